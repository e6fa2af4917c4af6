import { brief } from "../format.js";
import { leftOut, shares } from "./rows.js";

export { forged } from "./rows.js";

export const phrase = "one answer";

export const chart = (view) => [shares(`Shares of ${view.name}`, view.rows, view.confidence), ...leftOut(view)];

export const legend = ({ rows, confidence }) => {
	const bar = rows.some((row) => Number.isFinite(row.consistent)) ? " The bar is the nearest set of shares that could be true: none below 0, together 100 %." : "";
	return `The dot is the unbiased estimate, the line its ${brief(100 * confidence)} % interval; both may reach below 0.${bar}`;
};

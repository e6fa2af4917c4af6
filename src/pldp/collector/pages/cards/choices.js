import { ask } from "../api.js";
import { make } from "../dom.js";
import { brief } from "../format.js";
import { shares } from "./rows.js";

export { chart, legend } from "./choice.js";
export { forged } from "./rows.js";

export const phrase = "any number of answers";

/** Sets of items that many people have together: searched for when somebody asks. */
export const extra = ({ name }, round, tell) => {
	const found = make("div", {});
	const details = make("details", {}, make("summary", {}, "Frequent sets"), found);
	details.addEventListener("toggle", async () => {
		if (!details.open) return;
		try {
			const answer = await (await ask(`estimates/${encodeURIComponent(name)}.json?round=${round()}`)).json();
			const rows = answer.sets.filter(({ items }) => items.length > 1).map((row) => ({ ...row, label: row.items.join(" + ") }));
			const none = () => make("p", { className: "muted" }, `No set of two or more has a support of ${brief(100 * answer.min_support)} % for sure.`);
			found.replaceChildren(rows.length ? shares("Frequent sets", rows, answer.confidence) : none(), make("p", { className: "muted small" }, `As of now: ${answer.promise}.`));
		} catch (error) {
			tell(error);
		}
	});
	return details;
};

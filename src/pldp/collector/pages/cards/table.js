import { make } from "../dom.js";
import { brief, whole, writer } from "../format.js";
import { TOO_FEW, head, needed, sayable, title } from "./rows.js";

export { forged } from "./rows.js";

export const phrase = "two questions together";

export const legend = () => "The darker a cell, the larger its share.";

export const chart = ({ questions, reports, rows, confidence }) => {
	const [firsts, seconds] = [0, 1].map((side) => [...new Set(rows.map(({ label }) => label[side]))]);
	const most = Math.max(...sayable(rows).map((row) => row.estimate));
	const cell = ({ estimate, low, high, too_few: few }) => {
		if (few) return make("td", { className: "number" }, TOO_FEW, make("span", { className: "reach small" }, needed({ too_few: few })));
		const write = writer((high - low) / 4, 0.01);
		const shade = Math.max(0, Math.min(5, Math.round((5 * estimate) / most)));
		return make("td", { className: `number shade${shade}` }, `${write(estimate)} %`, make("span", { className: "reach small" }, `${write(low)} to ${write(high)} %`));
	};
	const scroll = make("div", { className: "scroll", tabIndex: 0 },
		make("table", { className: "two-way" },
			make("caption", { className: "muted small" }, `${whole(reports)} reports that answer both; unbiased share of all people, with its ${brief(100 * confidence)} % interval`),
			head(title(questions[0]), ...seconds.map((text) => title(text, "number"))),
			make("tbody", {}, ...firsts.map((first) => make("tr", {}, make("th", { scope: "row" }, first), ...rows.filter(({ label }) => label[0] === first).map(cell))))));
	scroll.setAttribute("role", "region");
	scroll.setAttribute("aria-label", `${questions[0]} and ${questions[1]} together`);
	return [scroll];
};

import { make } from "../dom.js";
import { brief, whole, writer } from "../format.js";
import { TOO_FEW, head, needed, sayable, title } from "./rows.js";

export { forged } from "./rows.js";

export const phrase = "questions together";

export const legend = () => "The darker a cell, the larger its share.";

/** Cramér's V: how much the answers have to do with each other; of a set, of every item. */
const told = (association, confidence) => {
	const words = (association ?? []).map(({ label, estimate, low, high }) =>
		`${label.length ? `${label.join(" and ")}: ` : ""}${estimate.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`);
	return words.length ? [make("p", { className: "muted small" }, `Association (Cramér's V, ${brief(100 * confidence)} % interval; 0 if independent, 1 at most): ${words.join("; ")}.`)] : [];
};

/** One table for two questions; for three, one for each answer to the third. */
export const chart = ({ questions, reports, rows, confidence, association }) => {
	const [firsts, seconds, slices] = [0, 1, 2].map((side) => [...new Set(rows.map(({ label }) => label[side]))]);
	const most = Math.max(...sayable(rows).map((row) => row.estimate));
	const cell = ({ estimate, low, high, too_few: few }) => {
		if (few) return make("td", { className: "number" }, TOO_FEW, make("span", { className: "reach small" }, needed({ too_few: few })));
		const write = writer((high - low) / 4, 0.01);
		const shade = Math.max(0, Math.min(5, Math.round((5 * estimate) / most)));
		return make("td", { className: `number shade${shade}` }, `${write(estimate)} %`, make("span", { className: "reach small" }, `${write(low)} to ${write(high)} %`));
	};
	const all = questions.length > 2 ? "all of them" : "both";
	const slice = (third) => {
		const own = rows.filter(({ label }) => label[2] === third);
		const named = third === undefined ? "" : `${questions[2]}: ${third}; `;
		const scroll = make("div", { className: "scroll", tabIndex: 0 },
			make("table", { className: "two-way" },
				make("caption", { className: "muted small" }, `${named}${whole(reports)} reports that answer ${all}; unbiased share of all people, with its ${brief(100 * confidence)} % interval`),
				head(title(questions[0]), ...seconds.map((text) => title(text, "number"))),
				make("tbody", {}, ...firsts.map((first) => make("tr", {}, make("th", { scope: "row" }, first), ...own.filter(({ label }) => label[0] === first).map(cell))))));
		scroll.setAttribute("role", "region");
		scroll.setAttribute("aria-label", `${named}${questions[0]} and ${questions[1]} together`);
		return scroll;
	};
	return [...slices.map(slice), ...told(association, confidence)];
};

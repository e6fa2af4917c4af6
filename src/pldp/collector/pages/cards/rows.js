/** Rows with estimates and intervals, which all kinds but tables share. */
import { axis, interval, scaleOf } from "../charts.js";
import { make } from "../dom.js";
import { brief, whole, writer } from "../format.js";

export const PERCENT = " %";

/** In place of a number whose interval is as wide as all that is possible; `too_few` is how many reports it needs. */
export const TOO_FEW = "too few to say";
export const needed = ({ too_few: reports }) => `about ${whole(reports)} needed`;
export const sayable = (rows) => rows.filter((row) => !row.too_few);

export const head = (...titles) => make("thead", {}, make("tr", {}, ...titles));
export const title = (text, className = "") => make("th", { scope: "col", className }, text);

/** On a phone rows are laid out anew, which must not take the meaning of a table from them. */
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell", TH: "columnheader" };

const withRoles = (table) => {
	for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) {
		part.setAttribute("role", part.scope === "row" ? "rowheader" : ROLES[part.tagName]);
	}
	return table;
};

/** A table whose rows are label, dot with interval, number, interval in words. */
export const dots = (caption, rows, { scale, tick, write, unit, confidence }) =>
	withRoles(make("table", { className: "dots" },
		make("caption", { className: "unseen" }, caption),
		head(title("Value"), make("th", { scope: "col", className: "chart" }, make("span", { className: "unseen" }, "Chart"), axis(scale, tick)), title("Estimate", "number"), title(`${brief(100 * confidence)} % interval`, "number reach")),
		make("tbody", {}, ...rows.map((row) =>
			make("tr", {},
				make("th", { scope: "row" }, row.label),
				make("td", { className: "chart" }, row.too_few ? "" : interval(scale, row)),
				make("td", { className: "number" }, ...(row.too_few ? [TOO_FEW] : [write(row)(row.estimate), unit])),
				make("td", { className: "number reach" }, row.too_few ? needed(row) : `${write(row)(row.low)} to ${write(row)(row.high)}`, unit === PERCENT && !row.too_few ? unit : ""))))));

/** Rows that are shares, in per cent, all with the digits of the most precise one. */
export const shares = (caption, rows, confidence) => {
	const scale = scaleOf([0, ...sayable(rows).flatMap(({ estimate, low, high, consistent }) => [estimate, low, high, consistent])]);
	const best = Math.min(...rows.map((row) => row.standard_error ?? Infinity));
	return dots(caption, rows, { scale, tick: (tick) => `${brief(100 * tick)} %`, write: () => writer(best, 0.01), unit: PERCENT, confidence });
};

export const leftOut = ({ rows, left_out }) =>
	left_out ? [make("p", { className: "muted small" }, `The largest of ${whole(rows.length + left_out)} values; downloads have all.`)] : [];

export const forged = ({ manipulation }) =>
	Number.isFinite(manipulation) ? `One forged report can count as ${brief(manipulation)} people.` : "";

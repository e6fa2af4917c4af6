import { curve, fit, scaleOf, topOf } from "../charts.js";
import { make } from "../dom.js";
import { brief, writer } from "../format.js";
import { dots, forged as asPeople, sayable } from "./rows.js";

export const phrase = "a number";

const NAMES = { mean: "Mean", "50 %": "Median" };

export const label = (name) => NAMES[name] ?? `${name} below`;

export const chart = (view) => {
	const holders = [];
	if (view.density && !view.rows[0].too_few) {
		holders.push(make("div", { className: "wide" }));
		fit(holders[0], curve(view.density, view.rows[0], brief));
	}
	const rows = view.rows.map((row) => ({ ...row, label: label(row.label) }));
	const scale = scaleOf([...((!view.density && view.bounds) || []), ...sayable(rows).flatMap(({ estimate, low, high }) => [estimate, low, high])]);
	const write = ({ low, high }) => writer((high - low) / 4);
	return [...holders, dots(`Mean${view.density ? " and quantiles" : ""} of ${view.name}`, rows, { scale, tick: brief, write, unit: view.unit && ` ${view.unit}`, confidence: view.confidence })];
};

export const legend = ({ confidence, density, rows }) => {
	if (density && rows[0].too_few) return `The dots are quantiles, the lines their ${brief(100 * confidence)} % intervals.`;
	if (!density) return `The dot is the mean, the line its ${brief(100 * confidence)} % interval, between the bounds of the question.`;
	const cut = Math.max(...density.high) > topOf(density) ? " The band is cut: it reaches higher than drawn." : "";
	return `The line is the fitted distribution, the band around it holds it with ${brief(100 * confidence)} % at each place if it is smooth; the upright line is the mean with its interval.${cut}`;
};

export const forged = (view) =>
	Number.isFinite(view.moves) ? `One forged report can move the mean by up to ${brief(view.moves)}${view.unit ? ` ${view.unit}` : ""}.` : asPeople(view);

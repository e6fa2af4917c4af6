import { curve, fit, scaleOf, topOf } from "../charts.js";
import { make } from "../dom.js";
import { brief, writer } from "../format.js";
import { dots, forged as asPeople } from "./rows.js";

export const phrase = "a number";

const NAMES = { mean: "Mean", "50 %": "Median" };

export const label = (name) => NAMES[name] ?? `${name} below`;

export const chart = (view) => {
	const holder = make("div", { className: "wide" });
	fit(holder, curve(view.density, view.rows[0], brief));
	const rows = view.rows.map((row) => ({ ...row, label: label(row.label) }));
	const scale = scaleOf(rows.flatMap(({ estimate, low, high }) => [estimate, low, high]));
	const write = ({ low, high }) => writer((high - low) / 4);
	return [holder, dots(`Mean and quantiles of ${view.name}`, rows, { scale, tick: brief, write, unit: view.unit && ` ${view.unit}`, confidence: view.confidence })];
};

export const legend = ({ confidence, density }) => {
	const cut = Math.max(...density.high) > topOf(density) ? " The band is cut: it reaches higher than drawn." : "";
	return `The line is the fitted distribution, the band around it holds it with ${brief(100 * confidence)} % at each place; the upright line is the mean with its interval.${cut}`;
};

export const forged = (view) =>
	Number.isFinite(view.moves) ? `One forged report can move the mean by up to ${brief(view.moves)}${view.unit ? ` ${view.unit}` : ""}.` : asPeople(view);

/** Any number of labels, with a budget for being ticked and one for not being ticked. */
import { odds } from "../explain.js";
import { chargeOf, fits as fitsSet, read, takes, tickedOf } from "./choices.js";
import { firstLines } from "./lists.js";
import { check, microOf, table } from "../reading.js";
import { epsilonText } from "../epsilon.js";

export { chargeOf, read, takes };

export const [keys, options] = [["values", "sides"], ["at_most"]];

const pairsOf = ({ sides, levels, values }, level, micro, key) => {
	const lines = table(sides, key, [...levels.keys()]).get(level);
	check(Array.isArray(lines) && lines.length === values.length, key);
	return lines.map((line) => {
		check(Array.isArray(line) && line.length === 2, key);
		const pair = line.map((text) => (text === "infinite" ? Infinity : microOf(text, key)));
		check(pair.every((bound) => bound <= micro) || pair.every((bound) => bound === Infinity), key);
		return pair;
	});
};

/** The budget of a label is the larger one. */
export const boundsOf = (...file) => pairsOf(...file).map((pair) => Math.max(...pair));

/** They are not tracked. */
export const fits = (channel, shown, micro, stages, { file, level, where }) =>
	!stages && fitsSet(channel, shown) &&
	pairsOf(file, level, micro, where).every((pair, place) => channel.sides(place).every((found, side) => found <= pair[side]));

const limit = (micro) => (micro === Infinity ? "without a limit" : `at most ${odds(micro)}`);

export const explain = ({ values }, { charge, channel: { chances, sides } }) => {
	const say = (place) => {
		const [ticked, unticked] = sides(place).map(limit);
		const told = `a report with the tick speaks for it ${ticked}, one without it against it ${unticked}`;
		return `${tickedOf(values[place], chances(place))} (${told}).`;
	};
	return [...firstLines(values, say, "more boxes"), `All boxes together cost ε = ${epsilonText(charge)}.`];
};

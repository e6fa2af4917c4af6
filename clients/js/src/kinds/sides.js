/** Any number of labels, with a budget for being ticked and one for not being ticked. */
import { epsilonIn, odds } from "../explain.js";
import { fits as fitsSet, read, takes, tickedOf } from "./choices.js";
import { firstLines } from "./lists.js";
import { largestDifference } from "../limits.js";
import { check, microOf, table } from "../reading.js";

export { read, takes };

export const [keys, options] = [["values", "sides"], ["at_most", "exclusive", "option_order"]];

export const pairsOf = ({ sides, levels, values }, level, micro, key) => {
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

/** Of a label that is ticked in one set and not in the other, the side that is told. */
export const chargeOf = (_, { limits }, ...file) => {
	const pairs = pairsOf(...file);
	return largestDifference(...[0, 1].map((side) => pairs.map((pair) => pair[side])), limits);
};

/** They are not tracked. */
export const fits = (channel, shown, micro, stages, { file, level, where }) =>
	!stages && fitsSet(channel, shown) &&
	pairsOf(file, level, micro, where).every((pair, place) => channel.sides(place).every((found, side) => found <= pair[side]));

const limit = (words, micro) => (micro === Infinity ? words.say("limit.none") : words.say("limit", { odds: odds(words, micro) }));

export const explain = (question, { charge, channel: { chances, sides } }, words) => {
	const say = (place) => {
		const [ticked, unticked] = sides(place).map((micro) => limit(words, micro));
		return words.say("box.sides", { box: tickedOf(question, place, chances(place), words), ticked, unticked });
	};
	return [...firstLines(question, say, "boxes.more", words), words.say("boxes.cost", { epsilon: epsilonIn(words, charge) })];
};

/** Any number of labels, each protected by itself. */
import { epsilonIn, ofHundred, times } from "../explain.js";
import { boundsOf, firstLines, keys as listed, options as budgeted } from "./lists.js";
import { check, labelsOf } from "../reading.js";

export { boundsOf };

export const [takes, keys, options] = ["set", listed, [...budgeted, "at_most", "exclusive"]];

export const read = (file, key) => {
	const labels = labelsOf(file, key);
	const { at_most: atMost = labels.size, exclusive = [] } = file;
	check(Number.isInteger(atMost) && atMost >= 1 && atMost <= labels.size, `${key}.at_most`);
	check(Array.isArray(exclusive) && exclusive.length < labels.size && ("exclusive" in file) === exclusive.length > 0, `${key}.exclusive`);
	check(exclusive.every((label) => labels.places.has(label)) && new Set(exclusive).size === exclusive.length, `${key}.exclusive`);
	const alone = new Set(exclusive.map((label) => labels.places.get(label)));
	const encode = (given) => {
		if (typeof given === "string" || typeof given?.[Symbol.iterator] !== "function") return undefined;
		const places = Array.from(given, (label) => labels.places.get(label));
		if (places.includes(undefined) || new Set(places).size < places.length || places.length > atMost) return undefined;
		if (places.length > 1 && places.some((place) => alone.has(place))) return undefined;
		return places.reduce((bits, place) => bits | (1n << BigInt(place)), 0n);
	};
	const limit = "at_most" in file ? `at most ${atMost} ` : "";
	const lonely = exclusive.length ? `, none beside an exclusive one (${exclusive.join(", ")}),` : "";
	return { ...labels, atMost, exclusive, limits: { atMost, alone }, rule: `a list of ${limit}different labels${lonely} among the ${labels.size}`, encode };
};

/** Bits of items have a budget each. */
export const fits = ({ byItem, largestSet }, { atMost }) => byItem && largestSet >= atMost;

/** The most that the labels in which two sets differ have together; sets are compared that agree in unprotected ones. */
export const chargeOf = (bounds, { limits: { atMost, alone } = { atMost: Infinity, alone: new Set() } } = {}) => {
	const largest = (isAlone, count) =>
		sum(bounds.filter((micro, place) => micro < Infinity && alone.has(place) === isAlone).sort((a, b) => b - a).slice(0, count));
	return Math.max(largest(false, 2 * atMost), largest(true, 1) + largest(false, atMost), largest(true, 2));
};

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** How often reports have the box at this place ticked. */
export const tickedOf = (question, place, chances, words) => {
	const [kept, raised] = chances.map((chance) => words.number(ofHundred(chance)));
	return words.say("box", { label: words.quoted(question, question.values[place]), kept, raised });
};

export const explain = (question, { charge, channel: { chances, promised } }, words) => {
	const say = (place) => {
		const [micro, box] = [promised(place), tickedOf(question, place, chances(place), words)];
		const epsilon = epsilonIn(words, micro);
		return micro < Infinity ? words.say("box.odds", { box, times: times(words, micro), epsilon }) : words.say("box.epsilon", { box, epsilon });
	};
	return [...firstLines(question, say, "boxes.more", words), words.say("boxes.cost", { epsilon: epsilonIn(words, charge) })];
};

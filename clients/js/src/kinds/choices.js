/** Any number of labels, each protected by itself. */
import { epsilonText } from "../epsilon.js";
import { ofHundred, times } from "../explain.js";
import { boundsOf, firstLines, keys as listed, options as budgeted } from "./lists.js";
import { check, labelsOf } from "../reading.js";

export { boundsOf };

export const [takes, keys, options] = ["set", listed, [...budgeted, "at_most"]];

export const read = (file, key) => {
	const labels = labelsOf(file, key);
	const { at_most: atMost = labels.size } = file;
	check(Number.isInteger(atMost) && atMost >= 1 && atMost <= labels.size, `${key}.at_most`);
	const encode = (given) => {
		if (typeof given === "string" || typeof given?.[Symbol.iterator] !== "function") return undefined;
		const places = Array.from(given, (label) => labels.places.get(label));
		if (places.includes(undefined) || new Set(places).size < places.length || places.length > atMost) return undefined;
		return places.reduce((bits, place) => bits | (1n << BigInt(place)), 0n);
	};
	const limit = "at_most" in file ? `at most ${atMost} ` : "";
	return { ...labels, atMost, rule: `a list of ${limit}different labels among the ${labels.size}`, encode };
};

/** Bits of items have a budget each. */
export const fits = ({ byItem, largestSet }, { atMost }) => byItem && largestSet >= atMost;

/** ε of the whole set; what unprotected labels reveal has no price. */
export const chargeOf = (bounds) => bounds.reduce((sum, micro) => (micro < Infinity ? sum + micro : sum), 0);

export const tickedOf = (label, chances) => {
	const [kept, raised] = chances.map(ofHundred);
	return `of 100 people who tick "${label}", about ${kept} reports have it ticked; of 100 who do not, about ${raised}`;
};

export const explain = ({ values }, { charge, channel: { chances, promised } }) => {
	const say = (place) => {
		const micro = promised(place);
		const odds = `${micro < Infinity ? `odds change at most ${times(micro)}, ` : ""}ε = ${epsilonText(micro)}`;
		return `${tickedOf(values[place], chances(place))} (${odds}).`;
	};
	return [...firstLines(values, say, "more boxes"), `All boxes together cost ε = ${epsilonText(charge)}.`];
};

/** Any number of labels. */
import { epsilonText } from "../epsilon.js";
import { ofHundred, times } from "../explain.js";
import { firstLines } from "./lists.js";
import { labelsOf } from "../reading.js";

export { boundsOf, keys, options } from "./lists.js";

export const takes = "set";

export const read = (file, key) => {
	const labels = labelsOf(file, key);
	const encode = (given) => {
		if (typeof given === "string" || typeof given?.[Symbol.iterator] !== "function") return undefined;
		const places = Array.from(given, (label) => labels.places.get(label));
		if (places.includes(undefined) || new Set(places).size < places.length) return undefined;
		return places.reduce((bits, place) => bits | (1n << BigInt(place)), 0n);
	};
	return { ...labels, rule: `a list of different labels among the ${labels.size}`, encode };
};

/** ε of the whole set; what unprotected labels reveal has no price. */
export const chargeOf = (bounds) => bounds.reduce((sum, micro) => (micro < Infinity ? sum + micro : sum), 0);

export const explain = ({ values }, { charge, channel: { chances, promised } }) => {
	const say = (place) => {
		const [[kept, raised], micro] = [chances(place).map(ofHundred), promised(place)];
		return (
			`of 100 people who tick "${values[place]}", about ${kept} reports have it ticked; of 100 who do not, ` +
			`about ${raised} (${micro < Infinity ? `odds change at most ${times(micro)}, ` : ""}ε = ${epsilonText(micro)}).`
		);
	};
	return [...firstLines(values, say, "boxes"), `All boxes together cost ε = ${epsilonText(charge)}.`];
};

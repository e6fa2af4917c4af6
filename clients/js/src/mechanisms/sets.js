/** Any number of values, each a bit of its own. */
import { BIT_TOTAL, bits, drawBits } from "./bits.js";
import { chancesOf, promise } from "./draws.js";
import { largest, microOfPowers, microOfRatio } from "../epsilon.js";

export const item_set = (sure, size, kept, raised) => {
	const total = BIT_TOTAL;
	sure(kept.every((weight, place) => raised[place] >= 0n && raised[place] < weight && weight <= total));
	const bitsOf = (set, noise) => {
		const ticked = set.toString(2).padStart(Number(size), "0");
		return drawBits(ticked.length, noise, (place) => Number([raised, kept][ticked.at(-1 - place)][place]));
	};
	return {
		...bits(size, 0, bitsOf),
		kept,
		raised,
		byItem: true,
		largestSet: Number(size),
		preface: null,
		proof: (place) => Number(kept[place]) / Number(total),
		whole: () => {
			const odds = kept.map((weight, place) => largest([weight, raised[place], 1n], [total - raised[place], total - weight, 1n]));
			return odds.every(([, less]) => less) ? microOfPowers(odds) : Infinity;
		},
		sides: (place) => [[kept[place], raised[place]], [total - raised[place], total - kept[place]]].map((ratio) => microOfRatio(...ratio)),
		promised: (place) => promise([kept[place], raised[place]], [total - raised[place], total - kept[place]])(),
		chances: (place) => chancesOf(total, kept[place], raised[place])(),
	};
};

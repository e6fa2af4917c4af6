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
	/** Every bit, of a present item or an absent one, speaks as much as it can; items alike are counted. */
	const levelOdds = (other, same) => {
		const found = new Map();
		kept.forEach((_, place) => {
			const [own, others] = [kept, other.kept].map((weights, side) => [weights[place], [raised, other.raised][side][place]]);
			// A bit that both leave as it is has no protection: sets are compared that agree in it.
			const isOpen = [own, others].every(([one, zero]) => one === total && !zero);
			const pairs = own.flatMap((one, mine) => others.flatMap((two, theirs) => ((same || isOpen) && mine !== theirs ? [] : [[one, two]])));
			const bit = pairs.flatMap(([one, two]) => [[one, two, 1n], [total - one, total - two, 1n]]);
			const [more, less] = largest(...bit.filter(([weight]) => weight));
			const key = `${more}/${less}`;
			found.set(key, [more, less, 1n + (found.get(key)?.[2] ?? 0n)]);
		});
		return [...found.values()];
	};
	return {
		...bits(size, 0, bitsOf),
		kept,
		raised,
		levelOdds,
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

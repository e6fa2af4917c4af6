/** Which sets may be ticked, and which of them gain most, in whole numbers of any size: see pldp.mechanisms.set_limits. */
import { largest as largestRatio, logarithm } from "./epsilon.js";
import { BIT_TOTAL } from "./mechanisms/bits.js";

const sum = (places, gains) => places.reduce((total, place) => total + gains[place], 0n);
const down = (a, b) => (a < b) - (a > b);
const largest = (places, gains, most) =>
	places.filter((place) => gains[place] > 0n).sort((a, b) => down(gains[a], gains[b])).slice(0, most);
const best = (things, worth) => things.reduce((one, two) => (worth(two) > worth(one) ? two : one));

/** Any set. */
const ANY = { atMost: Infinity, alone: new Set() };
const partsOf = (gains, alone) => [false, true].map((isAlone) => [...gains.keys()].filter((place) => alone.has(place) === isAlone));

/** For the first 0, 1, 2, … places the most that so many of them gain. */
const running = (places, gains, most) => {
	const kept = [];
	let total = 0n;
	const sums = places.map((place) => {
		const gain = gains[place];
		if (gain > 0n) {
			const less = kept.findIndex((each) => each < gain);
			kept.splice(less < 0 ? kept.length : less, 0, gain);
			total += gain - (kept.length > most ? kept.pop() : 0n);
		}
		return total;
	});
	return [0n, ...sums];
};

/** Two sets without a common place: in the order of gain less loss, those of the first come before those of the second. */
const split = (places, gains, losses, most) => {
	const order = [...places].sort((a, b) => down(gains[a] - losses[a], gains[b] - losses[b]));
	const before = running(order, gains, most);
	const after = running([...order].reverse(), losses, most).reverse();
	const count = best([...before.keys()], (place) => before[place] + after[place]);
	return [largest(order.slice(0, count), gains, most), largest(order.slice(count), losses, most)];
};

/** The set whose places gain most together. */
export const bestSet = (gains, { atMost, alone } = ANY) => {
	const [shared, lonely] = partsOf(gains, alone);
	return best([largest(shared, gains, atMost), largest(lonely, gains, 1)], (places) => sum(places, gains));
};

/** The two sets without a common place whose gains and losses are most together. */
export const bestPair = (gains, losses, { atMost, alone } = ANY) => {
	const [shared, lonely] = partsOf(gains, alone);
	const pairs = [
		split(shared, gains, losses, atMost),
		split(lonely, gains, losses, 1),
		[largest(lonely, gains, 1), largest(shared, losses, atMost)],
		[largest(shared, gains, atMost), largest(lonely, losses, 1)],
	];
	return best(pairs, ([one, two]) => sum(one, gains) + sum(two, losses));
};

/** The most that two sets differ by in labels with a budget; sets are compared that agree in the others. */
export const largestDifference = (ticked, unticked, limits) => {
	const [gains, losses] = [ticked, unticked].map((bounds) => bounds.map((micro) => (micro < Infinity ? BigInt(micro) : 0n)));
	const [one, two] = bestPair(gains, losses, limits);
	return Number(sum(one, gains) + sum(two, losses));
};

/** The larger ratio of a bit that can come, 1 or 0. */
const ratioOf = (one, two) => largestRatio(...[[one, two, 1n], [BIT_TOTAL - one, BIT_TOTAL - two, 1n]].filter(([weight]) => weight));

/** What a bit tells, if no set has its item, if the first has it (or both, where they are the same), and if the second has it. */
const bitOdds = (one, zero, otherOne, otherZero, same) => {
	const neither = ratioOf(zero, otherZero);
	// A bit that both leave as it is has no protection: sets are compared that agree in it.
	const isOpen = one === BIT_TOTAL && otherOne === BIT_TOTAL && !zero && !otherZero;
	const either = same ? [ratioOf(one, otherOne), neither] : [ratioOf(one, otherZero), ratioOf(zero, otherOne)];
	return [neither, ...(isOpen ? [neither, neither] : either)];
};

/** Factors of what a report of items tells about the level: of the sets within limits that it tells apart best. Items alike are counted. */
export const itemOdds = (channel, other, same, limits) => {
	const known = new Map();
	const items = channel.kept.map((kept, place) => {
		const weights = [kept, channel.raised[place], other.kept[place], other.raised[place]];
		const key = weights.join();
		if (!known.has(key)) known.set(key, { odds: bitOdds(...weights, same), counts: [0n, 0n, 0n] });
		return known.get(key);
	});
	const kinds = [...known.values()];
	const proof = kinds.flatMap(({ odds }) => odds).find(([, less]) => !less);
	if (proof) return [proof];
	for (const kind of kinds) kind.gains = kind.odds.map(([more, less]) => logarithm(more * kind.odds[0][1], less * kind.odds[0][0]));
	const [gains, losses] = [1, 2].map((state) => items.map((item) => item.gains[state]));
	const [ours, theirs] = (same ? [bestSet(gains, limits), []] : bestPair(gains, losses, limits)).map((places) => new Set(places));
	items.forEach(({ counts }, place) => (counts[ours.has(place) ? 1 : theirs.has(place) ? 2 : 0] += 1n));
	return kinds.flatMap(({ odds, counts }) => odds.map(([more, less], state) => [more, less, counts[state]]));
};

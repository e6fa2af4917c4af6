/** Response and unary encoding with weights per value: apart from those without, which most surveys have. */
import { largest, largestOdds, microOfRatio } from "../epsilon.js";
import { BIT_TOTAL } from "./bits.js";
import { TOTAL, windowed } from "./draws.js";
import { response } from "./response.js";
import { unary } from "./unary.js";

/** Places of the two largest ratios: with a second one, the largest that is not a value's own is known for every value. */
const largestTwo = (ratios) =>
	[...ratios.keys()].sort((i, j) => Number(ratios[j][0] * ratios[i][1] - ratios[i][0] * ratios[j][1])).slice(0, 2);

/** The largest ratio that is not the value's own. */
const largestBut = (ratios) => {
	const order = largestTwo(ratios);
	return (value) => ratios[order[Number(order[0] === value)]];
};

/** Places in two lists of ratios, never the same one, among which the two with the largest product are. */
const rivals = (ones, twos) => {
	const others = largestTwo(twos);
	return largestTwo(ones).flatMap((one) => others.filter((two) => two !== one).map((two) => [one, two]));
};

/** Where a report speaks for one value against another by at most the gain of the one times the loss of the other. */
const separable = (gains, losses) => {
	const [gainOfOthers, lossOfOthers] = [gains, losses].map(largestBut);
	const micro = (gain, loss) => microOfRatio(gain[0] * loss[0], gain[1] * loss[1]);
	const evidence = (value) => micro(gains[value], lossOfOthers(value));
	return {
		evidence,
		promised: (value) => Math.max(evidence(value), micro(gainOfOthers(value), losses[value])),
		pair: (one, two) => Math.max(micro(gains[one], losses[two]), micro(gains[two], losses[one])),
	};
};

const paired = (ones, twos) => ones.map((one, place) => [one, twos[place]]);

export const iprr = (sure, size, other) => {
	const kept = other.reduce((left, weight) => left - weight, TOTAL);
	sure(kept > 0n && kept < TOTAL && other.every((weight) => weight >= 0n));
	let end = kept;
	const ends = other.map((weight) => (end += weight));
	const evidence = (value) => microOfRatio(kept + other[value], other[value]);
	const pick = (value, number) => {
		const drawn = BigInt(ends.filter((each) => each <= number).length);
		return [drawn, value][Number(number < kept)];
	};
	const levelOdds = (channel, same) => {
		// A value that no level draws by chance has no protection: its report proves it.
		const counted = [...other.keys()].filter((value) => same || other[value] || channel.other[value]);
		const truths = counted.map((value) => [other[value] + kept, channel.other[value] + (same ? channel.kept : 0n)]);
		return [largestOdds([...truths, ...other.map((weight, value) => [weight, channel.other[value]])])];
	};
	return { ...response(size, pick), size, kept, other, levelOdds, evidence, promised: evidence, rulesOut: (output) => !other[output], proof: () => Number(kept) / Number(TOTAL) };
};

export const aprr = (sure, size, other) => {
	sure(other.some((weight) => weight) && other.every((weight) => weight >= 0n && weight * size < TOTAL));
	const truth = other.map((weight) => TOTAL - (size - 1n) * weight);
	const pick = (value, number) => windowed(1n, truth[value], other[value] || 1n)(value, number);
	const evidence = separable(truth.map((weight) => [weight, 1n]), other.map((weight) => [1n, weight]));
	const levelOdds = (channel, same) => {
		if (same) return [largestOdds([...paired(truth, channel.truth), ...paired(other, channel.other)])];
		const pairs = rivals(truth.map((weight) => [weight, 1n]), channel.other.map((weight) => [1n, weight]));
		return [largestOdds(pairs.map(([one, two]) => [truth[one], channel.other[two]]))];
	};
	return { ...response(size, pick), size, truth, other, levelOdds, ...evidence, rulesOut: (_, value) => !other[value] };
};

/** The larger ratio of a bit being 1 or 0. */
const bit = (one, two) => largest([one, two, 1n], [BIT_TOTAL - one, BIT_TOTAL - two, 1n]);
const over = ([n, d], [m, e]) => [n * e, d * m, 1n];

/** Every bit tells as much as it can; those of the true values more than they would as bits of others. */
const bitOdds = (own, channel, same) => {
	const noise = own.other.map((weight, place) => bit(weight, channel.other[place]));
	const more = (ones, twos) => ones.map((weight, place) => over(bit(weight, twos[place]), noise[place]));
	if (same) return [...noise, largest(...more(own.truth, channel.truth))];
	const [ones, twos] = [more(own.truth, channel.other), more(own.other, channel.truth)];
	return [...noise, largest(...rivals(ones, twos).map(([one, two]) => [ones[one][0] * twos[two][0], ones[one][1] * twos[two][1], 1n]))];
};

export const idue = (sure, size, truth, other) => {
	sure(truth.every((weight, place) => other[place] > 0n && other[place] < weight && weight < BIT_TOTAL));
	const gains = truth.map((weight, place) => [weight, other[place]]);
	const losses = gains.map(([weight, rest]) => [BIT_TOTAL - rest, BIT_TOTAL - weight]);
	const channel = unary(size, (place) => truth[place], (place) => Number(other[place]));
	return { ...channel, size, truth, other, levelOdds: (...asked) => bitOdds({ truth, other }, ...asked), ...separable(gains, losses) };
};

export { aprr as prr };

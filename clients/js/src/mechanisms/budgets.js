/** Response and unary encoding with weights per value: apart from those without, which most surveys have. */
import { microOfRatio } from "../epsilon.js";
import { BIT_TOTAL } from "./bits.js";
import { TOTAL, windowed } from "./draws.js";
import { response } from "./response.js";
import { unary } from "./unary.js";

/** The largest ratio that is not the value's own. */
const largestBut = (ratios) => {
	const order = [...ratios.keys()].sort((i, j) => Number(ratios[j][0] * ratios[i][1] - ratios[i][0] * ratios[j][1]));
	return (value) => ratios[order[Number(order[0] === value)]];
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
	return { ...response(size, pick), evidence, promised: evidence, rulesOut: (output) => !other[output] };
};

export const aprr = (sure, size, other) => {
	sure(other.some((weight) => weight) && other.every((weight) => weight >= 0n && weight * size < TOTAL));
	const truth = other.map((weight) => TOTAL - (size - 1n) * weight);
	const pick = (value, number) => windowed(1n, truth[value], other[value] || 1n)(value, number);
	const evidence = separable(truth.map((weight) => [weight, 1n]), other.map((weight) => [1n, weight]));
	return { ...response(size, pick), ...evidence, rulesOut: (_, value) => !other[value] };
};

export const idue = (sure, size, truth, other) => {
	sure(truth.every((weight, place) => other[place] > 0n && other[place] < weight && weight < BIT_TOTAL));
	const gains = truth.map((weight, place) => [weight, other[place]]);
	const losses = gains.map(([weight, rest]) => [BIT_TOTAL - rest, BIT_TOTAL - weight]);
	const channel = unary(size, (place) => truth[place], (place) => Number(other[place]));
	return { ...channel, ...separable(gains, losses) };
};

export { aprr as prr };

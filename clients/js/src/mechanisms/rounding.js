/** One of the two bounds. */
import { integers, promise, TOTAL, twoWeights } from "./draws.js";

export const sr = (sure, size, first, step) => {
	sure(first > 0n && step > 0n && 2n * first + step * (size - 1n) === TOTAL);
	const pick = (value, number) => BigInt(number < first + step * value);
	const ends = [TOTAL - first, first];
	return { ...integers(2, pick), ...twoWeights("rounding", ends), width: 0, first, step, promised: promise(ends) };
};

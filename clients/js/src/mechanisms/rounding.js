/** One of the two bounds. */
import { integers, promise, TOTAL } from "./draws.js";

export const sr = (sure, size, first, step) => {
	sure(first > 0n && step > 0n && 2n * first + step * (size - 1n) === TOTAL);
	const pick = (value, number) => BigInt(number < first + step * value);
	return { ...integers(2, pick), width: 0, first, step, promised: promise([TOTAL - first, first]) };
};

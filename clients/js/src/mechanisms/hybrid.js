/** A window up to `start`, rounding beyond it. */
import { integers, promise, TOTAL, twoWeights, windowed } from "./draws.js";

export const hm = (sure, size, width, inside, outside, first, step) => {
	const start = width * inside + (size - 1n) * outside;
	sure(width > 0n && outside > 0n && outside < inside && first > 0n && step > 0n);
	sure(start + 2n * first + step * (size - 1n) === TOTAL);
	const [windows, near] = [size + width - 1n, windowed(width, inside, outside)];
	const pick = (value, number) => {
		const rounded = windows + BigInt(number - start < first + step * value);
		return [near(value, number), rounded][Number(number >= start)];
	};
	const parts = [[inside, outside], [TOTAL - start - first, first]];
	const told = twoWeights("hybrid", ...parts);
	return { ...integers(windows + 2n, pick), ...told, width: Number(width), promised: promise(...parts) };
};

/** A number in a window that begins at the value, more likely than others. */
import { integers, promise, TOTAL, twoWeights, windowed } from "./draws.js";

export const pm = (sure, size, width, inside, outside) => {
	sure(width > 0n && outside > 0n && outside < inside && width * inside + (size - 1n) * outside === TOTAL);
	const channel = integers(size + width - 1n, windowed(width, inside, outside));
	const told = twoWeights("window", [inside, outside]);
	return { ...channel, ...told, width: Number(width), promised: promise([inside, outside]) };
};

export { pm as sw };

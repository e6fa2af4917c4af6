/** Randomised response: a report names one value. */
import { chancesOf, integers, promise, TOTAL, windowed } from "./draws.js";

export const response = (size, pick) => ({
	...integers(size, pick),
	verb: "says",
	says: "label",
	supports: (output, value) => output === value,
});

export const krr = (sure, size, other) => {
	const [total, truth] = [TOTAL, TOTAL - (size - 1n) * other];
	sure(other > 0n && other < truth);
	const [promised, chances] = [promise([truth, other]), chancesOf(total, truth, other)];
	return { ...response(size, windowed(1n, truth, other)), size, total, truth, other, promised, chances };
};

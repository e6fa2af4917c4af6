/** An interval of points that the value is likely to be in, each with its mirror image; see pldp.mechanisms.minimax. */
import { integers, promise, TOTAL } from "./draws.js";

const UNIT = 2n ** 40n;
const larger = (one, two) => (one[0] * two[1] >= two[0] * one[1] ? one : two);
const sum = (weights) => weights.reduce((total, weight) => total + weight, 0n);

export const minimax = (sure, size, start, stop, inside, value, [most, least, ...more]) => {
	const outputs = [...start.keys()];
	sure(outputs.length && [stop, inside, value].every(({ length }) => length === start.length));
	sure(least > 0n && least < most && !more.length && value.every((number) => number >= 0n));
	sure(outputs.every((y) => start[y] >= 0n && start[y] < stop[y] && stop[y] <= size && inside[y] > 0n));
	const outside = inside.map((weight) => (weight * least + most - 1n) / most);
	const weightsOf = (point) => outputs.map((y) => [outside, inside][Number(start[y] <= point && point < stop[y])][y]);
	const points = Array.from({ length: Number(size) }, (_, point) => weightsOf(BigInt(point)));
	// Mirror images have the weights of the point's mirror image.
	const rest = points.map((weights, point) => TOTAL - sum(weights) - sum(points.at(-1 - point)));
	sure(rest.every((weight) => weight > 0n));
	// The mean of the numbers is the point itself, to 10⁻¹².
	const fair = points.every((weights, point) => {
		const mean = sum(value.map((number, y) => number * (weights[y] - points.at(-1 - point)[y])));
		const off = mean * (size - 1n) - (2n * BigInt(point) + 1n - size) * UNIT * TOTAL;
		return 10n ** 12n * (off < 0n ? -off : off) <= (size - 1n) * UNIT * TOTAL;
	});
	sure(fair);
	const pick = (point, number) => {
		let end = 0n;
		const ends = [point, size - 1n - point].flatMap((own) => points[own].map((weight) => (end += weight)));
		return ends.filter((each) => each <= number).length;
	};
	const rests = rest.toSorted((a, b) => Number(a - b));
	const worst = outputs.reduce((found, y) => larger(found, [inside[y], outside[y]]), [rests.at(-1), rests[0]]);
	const speaks = (output) => {
		const y = output % start.length;
		if (output === 2 * start.length) return [0, Number(size)];
		return (output === y ? [start[y], stop[y]] : [size - stop[y], size - start[y]]).map(Number);
	};
	return { ...integers(2 * start.length + 1, pick), speaks, promised: promise(worst) };
};

/** A report names a block of answers, most likely one that contains the value: see pldp.mechanisms.projective. */
import { littleEndian } from "../bytes.js";
import { promise, TOTAL } from "./draws.js";

const INDEX_BYTES = 16;
const NUMBERS = 1n << 128n;
const LARGEST_ORDER = 2 ** 27;

const isPrime = (number) => {
	let divisor = 2;
	while (divisor * divisor <= number && number % divisor) divisor += 1;
	return number > 1 && divisor * divisor > number;
};
/** Whole quotients, exact below 2⁵³; the remainder has the sign of the divisor. */
const modulo = (number, by) => ((number % by) + by) % by;
const quotient = (number, by) => (number - modulo(number, by)) / by;
const places = (length, at) => Array.from({ length }, (_, place) => at(place));
const pointsOf = (order, length) => places(Math.max(length, 0), (place) => order ** BigInt(place)).reduce((a, b) => a + b, 0n);

/** The coordinates of points as digits of one number. */
const geometry = (order, length) => {
	const powers = places(length + 1, (place) => Number(order ** BigInt(place)));
	const starts = places(length + 1, (place) => Number(pointsOf(order, place)));
	const q = Number(order);
	const lastOf = (point) => {
		let last = 0;
		for (let place = 1; place < length; place += 1) last += Number(starts[place] <= point);
		return last;
	};
	const vectorOf = (point, last = lastOf(point)) => point - starts[last] + powers[last];
	const digit = (number, place) => Math.floor((number % powers[place + 1]) / powers[place]);
	const product = (one, two, count) => {
		let sum = 0;
		for (let place = 0; place < count; place += 1) sum += digit(one, place) * digit(two, count - 1 - place);
		return sum;
	};
	return { powers, starts, lastOf, vectorOf, product, q };
};

const channelOf = (sure, size, order, truth, [blocks, own, common], rest) => {
	const others = blocks - own;
	const upper = truth * ((NUMBERS + own - 1n) / own);
	const lower = (TOTAL - truth) * (NUMBERS / others);
	sure(truth > 0n && truth < TOTAL && lower < upper && blocks <= TOTAL);
	const p = Number(truth) / Number(TOTAL);
	const q = p * (Number(common) / Number(own)) + (1 - p) * (Number(own - common) / Number(others));
	return {
		...rest,
		size,
		total: TOTAL,
		truth: upper,
		other: lower,
		promised: promise([upper, lower]),
		chances: () => [p, q],
		form: { integers: Number(blocks), order: Number(order) },
		draw: (value, random) => {
			const noise = random(INDEX_BYTES + 7);
			const outside = Number(littleEndian(noise.subarray(INDEX_BYTES)) >> 3n >= truth);
			const number = (littleEndian(noise.subarray(0, INDEX_BYTES)) * [own, others][outside]) >> 128n;
			return rest.block(Number(value), Number(number), outside);
		},
	};
};

const lengthOf = (sure, order, least, capacity) => {
	sure(order >= least && order < LARGEST_ORDER && isPrime(Number(order)));
	return (length, size) => {
		while (capacity(length) < size) length += 1;
		return length;
	};
};

export const projective = (sure, size, order, truth) => {
	const length = lengthOf(sure, order, 2, (length) => pointsOf(order, length))(2, size);
	const design = [0, 1, 2].map((less) => pointsOf(order, length - less));
	const { powers, starts, lastOf, vectorOf, product, q } = geometry(order, length);
	return channelOf(sure, size, order, truth, design, {
		verb: "group",
		says: "group",
		supports: (output, value) => product(vectorOf(output), vectorOf(value), length) % q === 0,
		/** One coordinate of the hyperplane is solved for, so that its product with the value is 0, or is not. */
		block: (value, number, outside) => {
			const last = lastOf(value);
			const solved = length - 1 - last;
			const [start, power] = [starts[solved], powers[solved]];
			const parts = [1, q - 1][outside];
			const beyond = number - [start, power][outside];
			const rest = quotient(beyond, parts);
			const later = quotient(rest, power);
			const sum = product(vectorOf(Math.max(later, 0)), (value - starts[last]) * power, length - 1);
			const missing = modulo(modulo(beyond, parts) + outside - sum, q);
			const found = starts[solved + 1] + modulo(rest, power) + power * (missing + q * later);
			return [found, number + start * outside][Number(beyond < 0)];
		},
	});
};

const pairOf = (number) => {
	const high = Math.floor((1 + Math.sqrt(1 + 8 * number)) / 2);
	return [number - (high * (high - 1)) / 2, high];
};
const numberOf = (one, two) => {
	const high = Math.max(one, two);
	return (high * (high - 1)) / 2 + Math.min(one, two);
};

export const pairs = (sure, size, order, truth) => {
	const length = lengthOf(sure, order, 5, (length) => order ** BigInt(length))(1, size);
	const [functions, agreeing] = [pointsOf(order, length), pointsOf(order, length - 1)];
	const count = (order * (order - 1n)) / 2n;
	const design = [functions * count, functions * (order - 1n), agreeing * (order - 1n) + functions - agreeing];
	const { vectorOf, product, q } = geometry(order, length);
	const groupOf = (index, value) => modulo(-product(vectorOf(index), value, length), q);
	const pairCount = Number(count);
	return channelOf(sure, size, order, truth, design, {
		verb: "groups",
		says: "groups",
		supports: (output, value) => pairOf(output % pairCount).includes(groupOf(quotient(output, pairCount), value)),
		block: (value, number, outside) => {
			const parts = [q - 1, pairCount - q + 1][outside];
			const [index, place] = [quotient(number, parts), number % parts];
			const own = groupOf(index, value);
			const without = (group) => group + Number(group >= own);
			const named = [[own, without(place)], pairOf(place).map(without)][outside];
			return index * pairCount + numberOf(...named);
		},
	});
};

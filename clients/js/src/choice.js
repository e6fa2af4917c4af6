/** One label, all labels protected alike. */
import { littleEndian } from "./bytes.js";
import { BIT_TOTAL, drawBy, oneHot, TOTAL, windowed } from "./draws.js";
import { microOfRatio } from "./epsilon.js";
import { odds, ofHundred } from "./explain.js";
import { labelsOf } from "./reading.js";

const PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61];

const response = (sure, size, other) => {
	const truth = TOTAL - (size - 1n) * other;
	sure(other > 0n && other < truth);
	const promised = () => microOfRatio(truth, other);
	return { form: "says", size, total: TOTAL, truth, other, promised, draw: drawBy(windowed(1n, truth, other)) };
};

const unary = (sure, size, truth, other) => {
	sure(other > 0n && other < truth && truth < BIT_TOTAL);
	const promised = () => microOfRatio(truth * (BIT_TOTAL - other), other * (BIT_TOTAL - truth));
	const draw = oneHot(Number(size), () => truth, () => Number(other));
	return { form: "ticks", size, total: BIT_TOTAL, truth, other, promised, draw };
};

const hashing = (sure, size, buckets, other) => {
	sure(PRIMES.includes(Number(buckets)));
	const inner = response(sure, buckets, other);
	let vectors = buckets;
	while (vectors < size) vectors *= buckets;
	const draw = (value, random) => {
		const index = (littleEndian(random(16)) * vectors) >> 128n;
		let bucket = 0n;
		for (let place = 1n; place < vectors; place *= buckets) bucket += (index / place) * ((BigInt(value) / place) % buckets);
		return Number(index * buckets) + inner.draw(bucket % buckets, random);
	};
	return { ...inner, form: `one of ${buckets} groups`, chance: 1 / Number(buckets), draw };
};

export const mechanisms = new Map([
	["krr", [response, "other"]],
	["sue", [unary, "truth", "other"]],
	["oue", [unary, "truth", "other"]],
	["lh", [hashing, "buckets", "other"]],
]);

export const [keys, options] = [["values"], []];

export const read = (file, key) => {
	const labels = labelsOf(file, key);
	return { ...labels, rule: `one of the ${labels.size} labels`, encode: (label) => labels.places.get(label) };
};

export const explain = ({ values: [label] }, { micro, channel: { form, total, truth, other, chance } }) => {
	const share = (weight) => Number(weight) / Number(total);
	const says = { says: `says "${label}"`, ticks: `ticks "${label}" among other boxes` };
	return [
		`of 100 people whose answer is "${label}", about ${ofHundred(share(truth))} send a report that ` +
			`${says[form] ?? `names a group of answers that contains "${label}"`};`,
		`of 100 people whose answer is something else, about ${ofHundred(chance ?? share(other))} do.`,
		`Whatever your report says, it changes the odds between any two answers at most ${odds(micro)}.`,
	];
};

/** The same random bytes give the same output as in Python: see pldp.mechanisms. */
import { toHex } from "./bytes.js";
import { microOfPowers } from "./epsilon.js";
import { fail } from "./errors.js";

const TOTAL = 2 ** 53;
const BITS = 32;
const BIT_TOTAL = 2 ** BITS;
const PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61];

const littleEndian = (bytes) => bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);

const made = (form, total, truth, other, draw) => {
	const good = other > 0 && other < truth && truth < total;
	return { form, truth, other, good, chances: [truth / total, other / total], draw };
};

const response = (size, other) => {
	const truth = TOTAL - (size - 1) * other;
	const draw = (value, random) => {
		const rest = Number(littleEndian(random(7)) >> 3n) - truth;
		const drawn = (rest - (rest % other)) / other; // exact below 2⁵³
		return [value, drawn + Number(drawn >= value)][Number(rest >= 0)];
	};
	return made("response", TOTAL, truth, other, draw);
};

const unary = (size, truth, other) => {
	const length = Math.ceil(size / 8);
	const draw = (value, random) => {
		const noise = random(BITS * length + 4);
		const below = new Uint8Array(length);
		for (let digit = 0, at = 0; digit < BITS; digit += 1) {
			const one = -((other >>> digit) & 1);
			for (let i = 0; i < length; i += 1, at += 1) below[i] = (noise[at] & below[i]) | (one & (noise[at] | below[i]));
		}
		const [place, bit] = [value >> 3, value & 7];
		const truly = Number(littleEndian(noise.subarray(-4)) < truth);
		below[length - 1] &= 0xff >> (8 * length - size);
		below[place] = (below[place] & ~(1 << bit)) | (truly << bit);
		return toHex(below);
	};
	return made("unary", BIT_TOTAL, truth, other, draw);
};

const hashing = (size, buckets, other) => {
	const inner = response(buckets, other);
	const good = inner.good && PRIMES.includes(buckets);
	let vectors = buckets;
	while (good && vectors < size) vectors *= buckets;
	const draw = (value, random) => {
		const index = Number((littleEndian(random(16)) * BigInt(vectors)) >> 128n);
		let bucket = 0;
		for (let place = 1; place < vectors; place *= buckets) {
			bucket += (Math.floor(index / place) % buckets) * (Math.floor(value / place) % buckets);
		}
		return index * buckets + inner.draw(bucket % buckets, random);
	};
	return { ...inner, good, form: `hashing ${buckets}`, chances: [inner.chances[0], 1 / buckets], draw };
};

const READERS = new Map([
	["krr", [response, "other"]],
	["sue", [unary, "truth", "other"]],
	["oue", [unary, "truth", "other"]],
	["lh", [hashing, "buckets", "other"]],
]);

export const channelOf = (key, mechanism, size, weights, promised) => {
	const check = (good, rule) => good || fail("SurveyError", `${key}: ${rule}`);
	const [build, ...names] = check(READERS.get(mechanism), "mechanism must be krr, sue, oue or lh");
	const numbers = names.map((name) => weights instanceof Map && weights.get(name));
	const whole = numbers.every(Number.isSafeInteger) && weights.size === names.length;
	const built = whole && build(size, ...numbers);
	check(built.good, `weights must be ${names} of a channel`);
	const micro = microOfPowers(otherValue({ ...built, size }, built));
	check(micro <= promised, "weights must keep the promised epsilon");
	return { ...built, size, weights, micro };
};

const ratio = (one, two, power = 1) => [BigInt(one), BigInt(two), power];
const largest = (...ratios) => ratios.reduce((best, next) => (next[0] * best[1] > best[0] * next[1] ? next : best));
const bit = (one, two, power) => largest(ratio(one, two, power), ratio(BIT_TOTAL - one, BIT_TOTAL - two, power));

/** Factors by which the output that speaks most for channel a against b changes the odds. */
const ratios = (a, pairs) =>
	a.form === "unary" ? pairs.map((pair) => bit(...pair)) : [largest(...pairs.map(([one, two]) => ratio(one, two)))];
const sameValue = (a, b) => ratios(a, [[a.truth, b.truth], [a.other, b.other, a.size - 1]]);
const otherValue = (a, b) => ratios(a, [[a.truth, b.other], [a.other, b.truth], [a.other, b.other, a.size - 2]]);

const most = (channels, factors) =>
	Math.max(...channels.flatMap((a) => channels.map((b) => (a === b ? 0 : microOfPowers(factors(a, b))))));

export const levelLeak = (channels) => most(channels, sameValue);

export const jointEpsilon = (channels, label) =>
	Math.max(...channels.map(({ micro }) => micro), label + Math.max(levelLeak(channels), most(channels, otherValue)));

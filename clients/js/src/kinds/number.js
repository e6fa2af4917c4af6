/** A number in public bounds, rounded to a grid. */
import { littleEndian } from "../bytes.js";
import { odds } from "../explain.js";
import { NOISE_BYTES, TOTAL } from "../mechanisms/draws.js";
import { check, NAME, optionalText } from "../reading.js";

/** At most 10¹⁵, 9 decimals, one spelling. */
const BOUND = /^(?!-0$)-?((0|[1-9]\d{0,14})(\.\d{0,8}[1-9])?|10{15})$/;
const MOST_BUCKETS = 4096;

export const takes = "number";

export const [keys, options] = [["low", "high", "buckets", "outside"], ["unit", "purpose"]];

/** The very number that a double is, in units of 2⁻¹⁰⁷⁴. */
const exact = (number) => {
	const view = new DataView(new ArrayBuffer(8));
	view.setFloat64(0, number);
	const bits = view.getBigUint64(0);
	const [exponent, digits] = [(bits >> 52n) & 0x7ffn, bits & ((1n << 52n) - 1n)];
	const size = exponent ? (digits | (1n << 52n)) << (exponent - 1n) : digits;
	return bits >> 63n ? -size : size;
};

/** Round at random to one of the two nearest points, so that the mean stays; the channel takes what comes of it. */
const rounding = (number, least, most, points) => {
	const range = exact(most) - exact(least);
	const place = (exact(number) - exact(least)) * BigInt(points - 1);
	const [below, rest] = [place / range, place % range];
	return (random) => Number(below + BigInt((littleEndian(random(NOISE_BYTES)) >> 3n) * range < rest * TOTAL));
};

export const read = ({ low, high, buckets, outside, unit, purpose }, key) => {
	for (const bound of [low, high]) check(typeof bound === "string" && BOUND.test(bound), `${key}.low, ${key}.high`);
	const [least, most] = [Number(low), Number(high)];
	check(least < most, `${key}.low`);
	check(Number.isInteger(buckets) && buckets >= 2 && buckets <= MOST_BUCKETS, `${key}.buckets`);
	check(["refuse", "clip"].includes(outside), `${key}.outside`);
	check(["mean", undefined].includes(purpose), `${key}.purpose`);
	const encode = (given) => {
		if (typeof given !== "number") return undefined;
		const number = outside === "clip" ? Math.min(Math.max(given, least), most) : given;
		if (!(number >= least && number <= most)) return undefined;
		if (purpose) return rounding(number, least, most, buckets);
		return Math.min(Math.trunc((number - least) / ((most - least) / buckets)), buckets - 1);
	};
	const shown = { low, high, buckets, outside, purpose, unit: optionalText(unit, `${key}.unit`, NAME) };
	const scale = [low, high, buckets, ...(purpose ? [purpose] : [])];
	return { ...shown, size: buckets, scale, rule: "a number in the bounds", encode };
};

export const explain = (question, { micro }, words) => {
	const [low, high, unit] = [words.number(question.low), words.number(question.high), words.unit(question)];
	const values = { low, high, buckets: question.buckets, unit: unit && ` ${unit}` };
	return [
		words.say(question.purpose ? "number.points" : "number.steps", values),
		words.say("number.odds", { odds: odds(words, micro) }),
	];
};

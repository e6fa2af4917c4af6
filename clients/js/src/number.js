/** A number in public bounds, rounded to a grid. */
import { drawBy, TOTAL, windowed } from "./draws.js";
import { microOfRatio } from "./epsilon.js";
import { odds } from "./explain.js";
import { check, NAME, optionalText } from "./reading.js";

/** At most 10¹⁵, 9 decimals, one spelling. */
const BOUND = /^(?!-0$)-?((0|[1-9]\d{0,14})(\.\d{0,8}[1-9])?|10{15})$/;
const MOST_BUCKETS = 4096;

const made = (pick, ...ratios) => {
	const micro = Math.max(...ratios.map(([n, d]) => microOfRatio(n, d)));
	return { draw: drawBy(pick), promised: () => micro };
};

const rounding = (sure, size, first, step) => {
	sure(first > 0n && step > 0n && 2n * first + step * (size - 1n) === TOTAL);
	return made((value, number) => BigInt(number < first + step * value), [TOTAL - first, first]);
};

const piecewise = (sure, size, width, inside, outside) => {
	sure(width > 0n && outside > 0n && outside < inside && width * inside + (size - 1n) * outside === TOTAL);
	return made(windowed(width, inside, outside), [inside, outside]);
};

/** A window up to `start`, rounding beyond it. */
const hybrid = (sure, size, width, inside, outside, first, step) => {
	const start = width * inside + (size - 1n) * outside;
	sure(width > 0n && outside > 0n && outside < inside && first > 0n && step > 0n);
	sure(start + 2n * first + step * (size - 1n) === TOTAL);
	const near = windowed(width, inside, outside);
	const pick = (value, number) => {
		const rounded = size + width - 1n + BigInt(number - start < first + step * value);
		return [near(value, number), rounded][Number(number >= start)];
	};
	return made(pick, [inside, outside], [TOTAL - start - first, first]);
};

const laplace = (sure, size, decay, peak) => {
	sure(decay > 0n && decay < TOTAL && peak > 0n && peak < TOTAL && peak % 2n === 0n);
	const noise = [peak];
	while (noise.length < size - 1n) noise.push((noise.at(-1) * decay + TOTAL - 1n) / TOTAL);
	const last = noise.reduce((left, weight) => left - weight, (TOTAL + peak) / 2n);
	sure(last > 0n);
	const tails = [last];
	for (const weight of noise.slice(1).reverse()) tails.push(tails.at(-1) + weight);
	const ends = [...tails, ...tails.map((tail) => TOTAL - tail).reverse()];
	const pick = (value, number) => {
		const moved = value + BigInt(ends.filter((end) => end <= number).length) - (size - 1n);
		return moved < 0n ? 0n : moved < size ? moved : size - 1n;
	};
	return made(pick, [TOTAL - tails.at(-1), last], [peak, noise.at(-1)]);
};

export const mechanisms = new Map([
	["laplace", [laplace, "decay", "peak"]],
	["sr", [rounding, "first", "step"]],
	["pm", [piecewise, "width", "inside", "outside"]],
	["sw", [piecewise, "width", "inside", "outside"]],
	["hm", [hybrid, "width", "inside", "outside", "first", "step"]],
]);

export const [keys, options] = [["low", "high", "buckets", "outside"], ["unit"]];

export const read = ({ low, high, buckets, outside, unit }, key) => {
	for (const bound of [low, high]) check(typeof bound === "string" && BOUND.test(bound), `${key}.low, ${key}.high`);
	const [least, most] = [Number(low), Number(high)];
	check(least < most, `${key}.low`);
	check(Number.isInteger(buckets) && buckets >= 2 && buckets <= MOST_BUCKETS, `${key}.buckets`);
	check(["refuse", "clip"].includes(outside), `${key}.outside`);
	const encode = (given) => {
		if (typeof given !== "number") return undefined;
		const number = outside === "clip" ? Math.min(Math.max(given, least), most) : given;
		if (!(number >= least && number <= most)) return undefined;
		return Math.min(Math.trunc((number - least) / ((most - least) / buckets)), buckets - 1);
	};
	const shown = { low, high, buckets, outside, unit: optionalText(unit, `${key}.unit`, NAME) };
	return { ...shown, size: buckets, scale: [low, high, buckets], rule: "a number in the bounds", encode };
};

export const explain = ({ low, high, unit, buckets }, { micro }) => [
	`your number is rounded to one of ${buckets} steps between ${low} and ${high}${unit && ` ${unit}`}, ` +
		"and a random number is sent that is only a little more likely to be near it.",
	`Whatever your report says, it changes the odds between any two numbers at most ${odds(micro)}.`,
];

/** A number in public bounds, rounded to a grid. */
import { odds } from "../explain.js";
import { check, NAME, optionalText } from "../reading.js";

/** At most 10¹⁵, 9 decimals, one spelling. */
const BOUND = /^(?!-0$)-?((0|[1-9]\d{0,14})(\.\d{0,8}[1-9])?|10{15})$/;
const MOST_BUCKETS = 4096;

export const takes = "number";

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

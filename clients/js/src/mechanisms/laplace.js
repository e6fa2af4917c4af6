/** The value and noise that decays on both sides, kept in the bounds. */
import { largest } from "../epsilon.js";
import { integers, promise, TOTAL } from "./draws.js";

export const laplace = (sure, size, decay, peak) => {
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
	const promised = promise([TOTAL - tails.at(-1), last], [peak, noise.at(-1)]);
	// By distance from the value: outputs inside the bounds, and at one of them.
	const told = [size > 2n ? noise : [], [TOTAL - tails.at(-1), ...tails.toReversed()]];
	const levelOdds = ({ told: others }, same) => {
		const pairs = told.flatMap((weights, part) => {
			const ratios = weights.map((weight, distance) => [weight, others[part][distance], 1n]);
			return same || !weights.length ? ratios : [...ratios, [weights[0], others[part].at(-1), 1n]];
		});
		return [largest(...pairs)];
	};
	return { ...integers(size, pick), family: "laplace", told, levelOdds, width: 1, promised };
};

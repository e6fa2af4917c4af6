/** The value and noise that decays on both sides, kept in the bounds. */
import { largest } from "../epsilon.js";
import { integers, promise, TOTAL } from "./draws.js";

/** Most buckets beyond each bound. */
const FARTHEST = 1n << 15n;

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

/** The same on a grid with so many more buckets beyond both bounds, of which the first has the number 0. */
export const laplace_wide = (sure, size, beyond, decay, peak) => {
	sure(beyond > 0n && beyond <= FARTHEST && decay > 0n && decay < TOTAL && peak > 0n && peak < TOTAL && peak % 2n === 0n);
	const noise = [peak];
	const farthest = size - 1n + beyond;
	while (noise.length < farthest) noise.push((noise.at(-1) * decay + TOTAL - 1n) / TOTAL);
	const tails = [(TOTAL - peak) / 2n];
	for (const weight of noise.slice(1)) tails.push(tails.at(-1) - weight);
	const last = tails.at(-1);
	sure(last > 0n);
	const ends = [...tails.slice().reverse(), ...tails.map((tail) => TOTAL - tail)];
	const pick = (value, number) => {
		let [low, high] = [0, ends.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if (ends[middle] <= number) low = middle + 1;
			else high = middle;
		}
		const moved = value + BigInt(low) - farthest + beyond;
		const most = size + 2n * beyond - 1n;
		return moved < 0n ? 0n : moved < most ? moved : most;
	};
	const apart = Number(size - 1n);
	let worst = [tails[Number(beyond) - 1], last];
	for (let near = 0; near + apart < noise.length; near++) {
		const far = noise[near + apart];
		if (noise[near] * worst[1] > worst[0] * far) worst = [noise[near], far];
	}
	// By distance from the value: outputs on the grid, and at one of its ends.
	const told = [noise, tails.slice(Number(beyond) - 1)];
	const levelOdds = ({ told: [grid, far] }, same) => {
		const ratios = (own, others) => own.slice(0, others.length).map((weight, place) => [weight, others[place], 1n]);
		const pairs = [...ratios(noise, grid), ...ratios(told[1], far)];
		return [largest(...pairs, ...(same ? [] : [...ratios(noise, grid.slice(apart)), [told[1][0], far.at(-1), 1n]]))];
	};
	const channel = integers(size + 2n * beyond, pick);
	return { ...channel, family: "laplace_wide", told, levelOdds, width: 1, promised: promise(worst) };
};

/** A report names some of the values that are protected alike, made from the truth or from noise: see pldp.mechanisms.subset. */
import { largestOdds, microOfRatio } from "../epsilon.js";
import { bytesFor, holds } from "./bits.js";
import { NOISE_BYTES, TOTAL } from "./draws.js";
import { below, number, pack } from "./subset.js";

/** For each value its tier (those with the same integers), its place there, the size of sets and the weight of noise. */
const homesOf = (chosen, other) => {
	const tiers = new Map();
	return chosen.map((taken, value) => {
		const key = `${taken} ${other[value]}`;
		if (!tiers.has(key)) tiers.set(key, []);
		const places = tiers.get(key);
		return { places, rank: places.push(value) - 1, taken: Number(taken), noise: taken * other[value] };
	});
};

/** What sets are possible: which values stand together, and how many of them make a set; single values are one tier. */
const tiersOf = (homes) =>
	[...new Set(homes.map(({ places, taken }) => (taken === 1 ? "1" : `${taken}: ${places}`)))].sort();

export const subset_items = (sure, size, chosen, other) => {
	const [count, kept] = [Number(size), other.reduce((left, weight) => left - weight, TOTAL)];
	sure(size <= 2n ** 20n && kept > 0n && kept < TOTAL && other.every((weight) => weight >= 0n));
	const homes = homesOf(chosen, other);
	sure(homes.every(({ places, taken, noise }) => taken === 1 || (taken > 1 && taken < places.length && noise)));
	const form = { bits: count, bytes: bytesFor(count), tiers: tiersOf(homes) };
	const most = homes.reduce((largest, { taken }) => Math.max(largest, taken), 1);
	const truth = Number(kept);
	let end = truth;
	const ends = other.map((weight) => (end += Number(weight)));
	const nameOf = (value, drawn) => {
		let noise = 0;
		for (const each of ends) noise += Number(each <= drawn);
		return [noise, value][Number(drawn < truth)];
	};
	const setOf = (value, noise) => {
		const named = nameOf(value, number(noise));
		const { places, rank, taken } = homes[named];
		const last = places.length - 1;
		const [set, used] = [new Uint8Array(count), new Uint8Array(count + most)];
		set[named] = 1;
		for (let step = 1; step < most; step += 1) {
			const left = last - taken + 1 + step;
			const drawn = below(noise, NOISE_BYTES * step, left);
			const rest = used[drawn] ? left - 1 : drawn;
			used[rest] = 1;
			set[places[Math.min(rest + Number(rest >= rank), last)]] |= Number(step < taken);
		}
		return set;
	};
	const evidence = (value) => {
		const { places, taken, noise } = homes[value];
		return microOfRatio((kept + noise) * (TOTAL + 4n * BigInt(places.length * (taken - 1))), noise * TOTAL);
	};
	const strongest = homes.reduce((best, { noise }, value) => (noise < homes[best].noise ? value : best), 0);
	return {
		form,
		size,
		verb: "ticks",
		says: "among",
		supports: (output, value) => holds(form, output, value),
		evidence,
		kept,
		noises: homes.map(({ noise }) => noise),
		levelOdds: (channel, same) => {
			const counted = [...homes.entries()].filter(([value, { noise }]) => same || noise || channel.noises[value]);
			const truths = counted.map(([value, { noise }]) => [noise + kept, channel.noises[value] + (same ? channel.kept : 0n)]);
			const slack = homes.reduce((most, { places, taken }) => Math.max(most, places.length * (taken - 1)), 0);
			const odds = largestOdds([...truths, ...homes.map(({ noise }, value) => [noise, channel.noises[value]])]);
			return [odds, [TOTAL + 4n * BigInt(slack), TOTAL, 1n]];
		},
		promised: evidence,
		proof: () => truth / Number(TOTAL),
		pair: (one, two) => Math.max(evidence(one), evidence(two)),
		worst: () => evidence(strongest),
		draw: (value, random) => pack(form, setOf(value, random(NOISE_BYTES * most))),
	};
};

/** A report names a hash function, drawn at random, and perturbs the group that it puts the value in. */
import { littleEndian } from "../bytes.js";
import { krr } from "./response.js";

export const INDEX_BYTES = 16;
const PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61];

export const lh = (sure, size, buckets, other) => {
	sure(PRIMES.includes(Number(buckets)));
	const inner = krr(sure, buckets, other);
	let vectors = buckets;
	while (vectors < size) vectors *= buckets;
	const groupOf = (index, value) => {
		let group = 0n;
		for (let place = 1n; place < vectors; place *= buckets) group += (index / place) * ((value / place) % buckets);
		return group % buckets;
	};
	const indexOf = (noise) => (littleEndian(noise) * vectors) >> 128n;
	return {
		...inner,
		inner,
		indexOf,
		groupOf,
		form: { integers: Number(vectors * buckets) },
		chances: () => [inner.chances()[0], 1 / Number(buckets)],
		verb: "group",
		says: "group",
		supports: (output, value) => groupOf(BigInt(output) / buckets, BigInt(value)) === BigInt(output) % buckets,
		draw: (value, random) => {
			const index = indexOf(random(INDEX_BYTES));
			return Number(index * buckets) + inner.draw(groupOf(index, BigInt(value)), random);
		},
	};
};

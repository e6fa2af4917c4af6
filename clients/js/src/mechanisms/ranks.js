/** Subsets by number, see pldp.mechanisms.ranks: a subset is its rank among all of its size, and ranks are drawn uniformly. */
import { littleEndian } from "../bytes.js";

const SPARE_BYTES = 16;

export const choose = (size, chosen) => {
	let count = 1n;
	for (let taken = 1n; taken <= chosen; taken += 1n) count = (count * (size - chosen + taken)) / taken;
	return count;
};

const bitLength = (number) => number.toString(2).length;

export const rankBytes = (count) => SPARE_BYTES + Math.ceil(bitLength(count) / 8);

/** A quotient of whole numbers that may be too large for numbers. */
export const ratio = (count, of) => Number((count << 64n) / of) / 2 ** 64;

export const rankOf = (noise, count) => (littleEndian(noise) * count) >> BigInt(8 * noise.length);

/** The places of the subset with this rank, rising: from the largest on, a place is taken if the rank is beyond those without it. */
export const placesOf = (rank, size, chosen) => {
	const places = [];
	let without = choose(size - 1n, chosen);
	for (let place = size - 1n; chosen; place -= 1n) {
		const taken = rank >= without;
		if (taken) {
			places.unshift(Number(place));
			rank -= without;
		}
		if (place) without = (without * (taken ? chosen : place - chosen)) / place;
		if (taken) chosen -= 1n;
	}
	return places;
};

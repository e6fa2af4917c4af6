/** A report names some of the values, the true one more often than chance: bits of which so many are 1, or a list of places. */
import { toHex } from "../bytes.js";
import { BLOCK_BYTES, bytesFor, holds } from "./bits.js";
import { largest } from "../epsilon.js";
import { NOISE_BYTES, promise, TOTAL } from "./draws.js";

/** ⌊u·count/2⁵³⌋ of the 53 bits u that seven bytes hold, the three lowest dropped; exact for counts below 2²⁰. */
export const below = (noise, start, count) => {
	const low = (noise[start] >> 3) | (noise[start + 1] << 5) | (noise[start + 2] << 13);
	const high = noise[start + 3] + noise[start + 4] * 2 ** 8 + noise[start + 5] * 2 ** 16 + noise[start + 6] * 2 ** 24;
	return Math.floor((high * count + Math.floor((low * count) / 2 ** 21)) / 2 ** 32);
};

/** The 53 bits of the first seven bytes. */
export const number = (noise) => {
	let read = 0;
	for (let place = NOISE_BYTES - 1; place > 0; place -= 1) read = read * 256 + noise[place];
	return read * 32 + (noise[0] >> 3);
};

/** The form of sets: see pldp.mechanisms.subset. */
const formOf = (size, chosen) => {
	const packed = bytesFor(size);
	const width = bytesFor(32 - Math.clz32(size - 1));
	const listed = packed > BLOCK_BYTES && chosen * width < packed;
	return listed ? { places: size, ones: chosen, width, bytes: chosen * width } : { bits: size, ones: chosen, bytes: packed };
};

/** The output that says which values are in the set. */
export const pack = (form, set) => {
	const bytes = new Uint8Array(form.bytes);
	let at = 0;
	set.forEach((one, place) => {
		if (!one) return;
		if (form.bits) bytes[place >> 3] |= 1 << (place & 7);
		else for (let byte = 0; byte < form.width; byte += 1) bytes[at++] = (place >>> (8 * byte)) & 0xff;
	});
	return toHex(bytes);
};

export const subset = (sure, size, chosen, truth) => {
	const [count, taken, weight, total] = [Number(size), Number(chosen), Number(truth), TOTAL];
	sure(chosen > 0n && chosen < size && size <= 2n ** 20n && chosen * total < size * truth && truth < total);
	const form = formOf(count, taken);
	const slack = total + 4n * size * chosen;
	const inSet = (value, noise) => {
		const others = new Uint8Array(count);
		const inside = number(noise) < weight;
		for (let step = 0; step < taken; step += 1) {
			const left = count - taken + step;
			const drawn = below(noise, NOISE_BYTES * (step + 1), left);
			others[others[drawn] ? left - 1 : drawn] = 1;
			if (step === 0 && inside) others.fill(0);
		}
		others.copyWithin(value + 1, value);
		others[value] = Number(inside);
		return others;
	};
	return {
		form,
		size,
		truth,
		levelOdds: ({ truth: other }, same) => {
			const [inside, outside] = [size - chosen, chosen];
			const pairs = [[truth, other], [total - truth, total - other]];
			if (!same) pairs.push([truth * inside, (total - other) * outside], [(total - truth) * outside, other * inside]);
			return [largest(...pairs.map(([one, two]) => [one, two, 1n])), [slack, total, 1n]];
		},
		verb: "ticks",
		says: "among",
		supports: (output, value) => holds(form, output, value),
		promised: promise([truth * (size - chosen) * slack, (total - truth) * chosen * total]),
		chances: () => [weight / 2 ** 53, (taken - weight / 2 ** 53) / (count - 1)],
		draw: (value, random) => pack(form, inSet(Number(value), random(NOISE_BYTES * (taken + 1)))),
	};
};

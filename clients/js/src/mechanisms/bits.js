import { toHex } from "../bytes.js";

export const BIT_TOTAL = 2n ** 32n;

export const bytesFor = (bits) => Math.ceil(bits / 8);

/** Bits that are 1 where 32 random digits are below the threshold, compared from the lowest on. */
export const drawBits = (size, noise, thresholdOf) => {
	const length = bytesFor(size);
	return Array.from({ length: size }, (_, place) => {
		const threshold = thresholdOf(place);
		let below = 0;
		for (let digit = 0; digit < 32; digit += 1) {
			const drawn = noise[digit * length + (place >> 3)] >> (place & 7);
			below = (drawn & below) | (-((threshold >>> digit) & 1) & (drawn | below));
		}
		return (below & 1) | Number(threshold === 2 ** 32);
	});
};

/** Reports are packed bits, one per value, made from noise for them and so many bytes more. */
export const bits = (size, more, bitsOf) => ({
	form: { bits: Number(size) },
	verb: "ticks",
	supports: (output, value) => (parseInt(output.slice((value >> 3) * 2).slice(0, 2), 16) >> (value & 7)) & 1,
	draw: (value, random) => {
		const bytes = new Uint8Array(bytesFor(Number(size)));
		const drawn = bitsOf(value, random(32 * bytes.length + more));
		drawn.forEach((bit, place) => (bytes[place >> 3] |= bit << (place & 7)));
		return toHex(bytes);
	},
});

import { fromHex, toHex } from "../bytes.js";

export const BIT_TOTAL = 2n ** 32n;

export const bytesFor = (bits) => Math.ceil(bits / 8);

/** From so many bytes on, an answer of bits may be a list of places instead. */
export const BLOCK_BYTES = 64;

/** Tell whether the bit of a value is 1. */
export const holds = ({ bits, width }, output, value) => {
	if (bits) return (parseInt(output.slice((value >> 3) * 2).slice(0, 2), 16) >> (value & 7)) & 1;
	const wanted = Array.from({ length: width }, (_, byte) => (value >>> (8 * byte)) & 0xff);
	const packed = fromHex(output);
	return Number(packed.some((_, at) => at % width === 0 && wanted.every((byte, place) => packed[at + place] === byte)));
};

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
	form: { bits: Number(size), bytes: bytesFor(Number(size)) },
	verb: "ticks",
	supports: (output, value) => holds({ bits: size }, output, value),
	draw: (value, random) => {
		const bytes = new Uint8Array(bytesFor(Number(size)));
		const drawn = bitsOf(value, random(32 * bytes.length + more));
		drawn.forEach((bit, place) => (bytes[place >> 3] |= bit << (place & 7)));
		return toHex(bytes);
	},
});

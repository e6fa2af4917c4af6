/** From random bytes to outputs, as in pldp.mechanisms: how many bytes depends on nothing but the channel. */
import { littleEndian, toHex } from "./bytes.js";

export const TOTAL = 2n ** 53n;
export const BIT_TOTAL = 2n ** 32n;

/** A draw by one number of 53 random bits. */
export const drawBy = (pick) => (value, random) => Number(pick(BigInt(value), littleEndian(random(7)) >> 3n));

/** `width` outputs from the value on weigh `inside` each, all others `outside`. */
export const windowed = (width, inside, outside) => (value, number) => {
	const beyond = number - width * inside;
	const other = beyond / outside;
	return [value + number / inside, other + width * BigInt(other >= value)][Number(beyond >= 0n)];
};

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

export const packed = (bits) => {
	const bytes = new Uint8Array(bytesFor(bits.length));
	bits.forEach((bit, place) => (bytes[place >> 3] |= bit << (place & 7)));
	return toHex(bytes);
};

/** One bit per value; that of the true one has a threshold and a number of its own. */
export const oneHot = (size, truthOf, otherOf) => (value, random) => {
	const noise = random(32 * bytesFor(size) + 4);
	const bits = drawBits(size, noise, otherOf);
	bits[value] = Number(littleEndian(noise.subarray(-4)) < truthOf(value));
	return packed(bits);
};

/** Unary encoding: a bit per value; that of the true one has a threshold and a number of its own. */
import { littleEndian } from "../bytes.js";
import { BIT_TOTAL, bits, drawBits } from "./bits.js";
import { chancesOf, promise } from "./draws.js";

export const unary = (size, truthOf, otherOf) => {
	const bitsOf = (value, noise) => {
		const drawn = drawBits(Number(size), noise, otherOf);
		drawn[value] = Number(littleEndian(noise.subarray(-4)) < truthOf(value));
		return drawn;
	};
	return { ...bits(size, 4, bitsOf), says: "ticks" };
};

export const sue = (sure, size, truth, other) => {
	const total = BIT_TOTAL;
	sure(other > 0n && other < truth && truth < total);
	const promised = promise([truth * (total - other), other * (total - truth)]);
	const channel = unary(size, () => truth, () => Number(other));
	return { ...channel, size, total, truth, other, promised, chances: chancesOf(total, truth, other) };
};

export { sue as oue };

/** From 53 random bits to an integer, as in pldp.mechanisms: how many bytes depends on nothing but the channel. */
import { littleEndian } from "../bytes.js";
import { largest, microOfRatio } from "../epsilon.js";

export const TOTAL = 2n ** 53n;
export const NOISE_BYTES = 7;

/** Reports are integers below `count`. */
export const integers = (count, pick) => ({
	form: { integers: Number(count) },
	draw: (value, random) => Number(pick(BigInt(value), littleEndian(random(NOISE_BYTES)) >> 3n)),
});

/** The same ε for every value. */
export const promise = (...ratios) => () => Math.max(...ratios.map(([n, d]) => microOfRatio(n, d)));

/**
 * What outputs tell about the level: every part of a channel has its largest and its smallest weight, which the channels
 * of one family have for the same outputs and values. See pldp.mechanisms.number.
 */
export const twoWeights = (family, ...parts) => ({
	family,
	parts,
	levelOdds: ({ parts: others }, same) => {
		const pairs = parts.flatMap(([most, least], part) => {
			const [otherMost, otherLeast] = others[part];
			return [[most, otherMost, 1n], [least, otherLeast, 1n], ...(same ? [] : [[most, otherLeast, 1n]])];
		});
		return [largest(...pairs)];
	},
});

/** How often a report speaks for the truth, and for another value. */
export const chancesOf = (total, ...weights) => () => weights.map((weight) => Number(weight) / Number(total));

/** `width` outputs from the value on weigh `inside` each, all others `outside`. */
export const windowed = (width, inside, outside) => (value, number) => {
	const beyond = number - width * inside;
	const other = beyond / outside;
	return [value + number / inside, other + width * BigInt(other >= value)][Number(beyond >= 0n)];
};

/** Two draws instead of one, see pldp.mechanisms.tracking: the permanent output of a value, and a report that perturbs it. */
import { fromHex, littleEndian } from "../bytes.js";
import { check, fields } from "../reading.js";
import { BIT_TOTAL, bytesFor } from "./bits.js";
import { NOISE_BYTES, TOTAL } from "./draws.js";
import { INDEX_BYTES } from "./hashing.js";
import { loadMechanisms, MECHANISMS } from "./registry.js";

/** Draw from bytes that are kept under a name. */
const settle = async (channel, value, kept, name, count) => {
	const noise = await kept(name, count);
	return channel.draw(value, () => noise);
};
const settleOne = (channel, value, kept) => settle(channel, value, kept, String(value), NOISE_BYTES);

/** Either stage may change the value, or both, back or to a third one. */
const otherOf = (whole, { size, truth, other }, instant) =>
	whole(truth * instant.other + other * instant.truth + (size - 2n) * other * instant.other, TOTAL);

/** Name → a function that builds both stages: their channels, the weights that they make together, and both draws. */
const STAGES = new Map([
	["krr", (make, whole, size, weights) => {
		const [permanent, instant] = weights.map((each) => make("krr", size, each));
		return {
			channels: [permanent, instant],
			together: [["other", otherOf(whole, permanent, instant)]],
			settle: (value, kept) => settleOne(permanent, value, kept),
			renew: instant.draw,
		};
	}],
	// One hash function for ever, and one draw for every bucket, not for every value.
	["lh", (make, whole, size, [first, second]) => {
		const permanent = make("lh", size, first);
		const { size: buckets, indexOf, groupOf, inner } = permanent;
		const instant = make("krr", Number(buckets), second);
		return {
			channels: [permanent, instant],
			together: [["buckets", Number(buckets)], ["other", otherOf(whole, permanent, instant)]],
			settle: async (value, kept) => {
				const index = indexOf(await kept("hash", INDEX_BYTES));
				return Number(index * buckets) + (await settleOne(inner, groupOf(index, BigInt(value)), kept));
			},
			renew: (settled, random) => {
				const bucket = settled % Number(buckets);
				return settled - bucket + instant.draw(bucket, random);
			},
		};
	}],
	// The 1 and the 0 of every item have a permanent output each.
	["item_set", (make, whole, size, weights) => {
		const [permanent, instant] = weights.map((each) => make("item_set", size, each));
		const { kept: ones, raised: zeros } = instant;
		const bitOf = (weight, place) => whole(weight * ones[place] + (BIT_TOTAL - weight) * zeros[place], BIT_TOTAL);
		const everything = (1n << BigInt(size)) - 1n;
		const bits = async (set, kept, name) =>
			littleEndian(fromHex(await settle(permanent, set, kept, name, 32 * bytesFor(size))));
		return {
			channels: [permanent, instant],
			together: [["kept", permanent.kept.map(bitOf)], ["raised", permanent.raised.map(bitOf)]],
			settle: async (set, kept) => {
				const [one, zero] = await Promise.all([bits(everything, kept, "1"), bits(0n, kept, "0")]);
				return (one & set) | (zero & (everything ^ set));
			},
			renew: instant.draw,
		};
	}],
	["sr", (make, whole, size, [first, second]) => {
		const [permanent, instant] = [make("sr", size, first), make("krr", 2, second)];
		const { truth, other } = instant;
		return {
			channels: [permanent, instant],
			together: [
				["first", whole(permanent.first * truth + (TOTAL - permanent.first) * other, TOTAL)],
				["step", whole(permanent.step * (truth - other), TOTAL)],
			],
			settle: (value, kept) => settleOne(permanent, value, kept),
			renew: instant.draw,
		};
	}],
]);

/** Give what builds the stages of a level from their weights. */
export const loadStages = async () => {
	const channelOf = await loadMechanisms([...STAGES.keys()]);
	return (key, mechanism, size, entry) => {
		const build = check(STAGES.get(mechanism), key, `tracked answers need one of ${[...STAGES.keys()]}`);
		const { permanent, instant } = fields(entry, key, ["permanent", "instant"]);
		const make = (name, count, weights) => channelOf(key, MECHANISMS.get(name)[0], name, count, weights, []);
		const whole = (product, total) => {
			check(product % total === 0n, key, "products of both stages must be whole weights");
			return Number(product / total);
		};
		return build(make, whole, size, [permanent, instant]);
	};
};

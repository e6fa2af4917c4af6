/** A report names some of the boxes and dummies, and is likelier if it meets the set, which dummies fill up. */
import { littleEndian, toHex } from "../bytes.js";
import { largest, microOfRatio } from "../epsilon.js";
import { bytesFor, holds } from "./bits.js";
import { NOISE_BYTES, TOTAL } from "./draws.js";
import { choose, placesOf, rankBytes, rankOf, ratio } from "./ranks.js";

const LARGEST_SIZE = 4096n;
/** How far the subsets of a class are from equally likely, for which ε allows. */
const SLACK = [2n ** 128n + 4n, 2n ** 128n];

export const privset = (sure, size, atMost, chosen, meets) => {
	const places = size + atMost;
	sure(atMost > 0n && atMost <= size && places <= LARGEST_SIZE && chosen > 0n && chosen <= size);
	const all = choose(places, chosen);
	const missing = choose(size, chosen);
	const meeting = all - missing;
	sure(TOTAL * meeting < meets * all && meets < TOTAL);
	const form = { bits: Number(places), ones: Number(chosen), bytes: bytesFor(Number(places)) };
	const promised = () => microOfRatio(meets * missing * SLACK[0], (TOTAL - meets) * meeting * SLACK[1]);

	/** How likely is one subset that meets a set, and one that does not, up to what all levels have alike. */
	const classes = [meets * missing, (TOTAL - meets) * meeting];
	const levelOdds = ({ classes: others }, same) => {
		const pairs = classes.flatMap((one, mine) => others.flatMap((two, theirs) => (same && mine !== theirs ? [] : [[one, two, 1n]])));
		return same ? [largest(...pairs)] : [largest(...pairs), [...SLACK, 1n]];
	};

	/** The subset of a class with this rank: by the number of common members, then members, then others. */
	const subsetOf = (members, others, rank, both) => {
		let outside = choose(size, chosen - both);
		for (let count = choose(atMost, both) * outside; rank >= count; count = choose(atMost, both) * outside) {
			rank -= count;
			both += 1n;
			outside = choose(size, chosen - both);
		}
		return [
			...placesOf(rank / outside, atMost, both).map((place) => members[place]),
			...placesOf(rank % outside, size, chosen - both).map((place) => others[place]),
		];
	};
	const draw = (set, random) => {
		const meet = littleEndian(random(NOISE_BYTES)) >> 3n < meets;
		const noise = random(rankBytes(all));
		const parts = [[], []];
		for (let place = 0; place < Number(size); place += 1) parts[Number((set >> BigInt(place)) & 1n)].push(place);
		for (let place = Number(size); place < form.bits; place += 1) parts[Number(parts[1].length < atMost)].push(place);
		const bytes = new Uint8Array(form.bytes);
		const subset = subsetOf(parts[1], parts[0], rankOf(noise, meet ? meeting : missing), BigInt(meet));
		for (const place of subset) bytes[place >> 3] |= 1 << (place & 7);
		return toHex(bytes);
	};
	return {
		form,
		classes,
		levelOdds,
		promised,
		whole: promised,
		largestSet: Number(atMost),
		preface: ["boxes.chosen", { count: chosen, size }],
		chances: () => {
			const [every, apart] = [choose(places - 1n, chosen - 1n), choose(size - 1n, chosen - 1n)];
			const held = [meets * every * missing, meets * (every - apart) * missing + (TOTAL - meets) * apart * meeting];
			return held.map((count) => ratio(count, TOTAL * meeting * missing));
		},
		verb: "ticks",
		supports: (output, place) => holds(form, output, place),
		draw,
	};
};

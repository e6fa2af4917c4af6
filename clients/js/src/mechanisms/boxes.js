/** A report is about some of the boxes, picked at random, and perturbs all their answers together. */
import { largest } from "../epsilon.js";
import { krr } from "./response.js";
import { choose, placesOf, rankBytes, rankOf, ratio } from "./ranks.js";

const MOST_BITS = 27n;

export const boxes = (sure, size, count, other, picks) => {
	sure(count > 0n && count <= size && count <= MOST_BITS);
	const [subsets, answers] = [choose(size, count), 2n ** count];
	sure((picks === subsets || (picks === size && count < size)) && picks * answers <= 2n ** MOST_BITS);
	const { truth, total, promised, draw } = krr(sure, answers, other);
	/** Picks tell nothing about the level: see pldp.mechanisms.boxes. */
	const levelOdds = ({ answer }, same) => {
		const pairs = same ? [[truth, answer.truth], [other, answer.other]] : [[truth, answer.other], [other, answer.truth], [other, answer.other]];
		return [largest(...pairs.map(([one, two]) => [one, two, 1n]))];
	};
	const raised = (other * answers) / 2n;
	const row = (rank) => Array.from({ length: Number(count) }, (_, step) => (Number(rank) + step) % Number(size)).sort((a, b) => a - b);
	const picked = (rank) => (picks === subsets ? placesOf(rank, size, count) : row(rank));
	const pickedBy = (output) => picked(BigInt(output) / answers);
	return {
		form: { integers: Number(picks * answers) },
		picked: Number(count),
		answer: { truth, other },
		levelOdds,
		promised,
		whole: promised,
		largestSet: Number(size),
		preface: ["boxes.about", { count, size }],
		chances: () => [raised + truth - other, raised].map((weight) => ratio(weight * count, total * size)),
		verb: "ticks",
		about: pickedBy,
		supports: (output, place) => {
			const bit = pickedBy(output).indexOf(place);
			return bit < 0 ? 0 : (output >> bit) & 1;
		},
		draw: (set, random) => {
			const rank = rankOf(random(rankBytes(picks)), picks);
			const ticked = picked(rank).map((place, bit) => ((set >> BigInt(place)) & 1n) << BigInt(bit));
			return Number(rank * answers) + draw(ticked.reduce((sum, bit) => sum | bit, 0n), random);
		},
	};
};

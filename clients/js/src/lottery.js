/** The level that a device uses and shows: drawn once, and at most the chosen one. See pldp.survey.lottery. */
import { canonical, littleEndian, sha256 } from "./bytes.js";
import { microOfRatio } from "./epsilon.js";
import { fail } from "./errors.js";
import { odds } from "./explain.js";
import { HIDDEN } from "./hidden_words.js";
import { NOISE_BYTES, TOTAL } from "./mechanisms/draws.js";
import { check, fields, microOf, namesOf } from "./reading.js";

/** What a level promises of an answer, part by part, and of a tracked one over time. */
const protections = ({ promises, stages }) => [...promises, ...(stages?.prices ?? [])];

export const hidingOf = async (entry, levels, questions) => {
	const [key, names] = ["hide_level", namesOf(levels)];
	const { lottery, stop } = fields(entry, key, ["lottery", "stop"]);
	check(names.length > 1 && levels.every(({ micro }, place) => micro !== levels[place + 1]?.micro), key);
	check(Number.isSafeInteger(stop) && stop > 0, key);
	const told = microOfRatio(TOTAL, BigInt(stop));
	check(told <= microOf(lottery, key), key);
	for (const { levels: offered } of questions) {
		check(canonical(namesOf(offered)) === canonical(names), key);
		const fits = (one, place) => !place || protections(one).every((micro, part) => micro >= protections(offered[place - 1])[part]);
		check(offered.every(fits), key);
	}
	// What a device knows this choice of levels by.
	const levelSet = await sha256(canonical([levels.map(({ name, micro }) => [name, micro]), ["lottery", new Map([["stop", stop]])]]));
	const isKept = (author) => (each) => each.author === author && each.levels === levelSet;
	const keptBy = ({ labels }, author) => labels.find(isKept(author))?.label ?? null;

	/** How many numbers are drawn depends on how many levels there are, never on the chosen one. */
	const draw = (chosen, random) => {
		let [drawn, goesOn] = [0, 1];
		for (let left = names.length - 1; left > 0; left -= 1) {
			goesOn &= Number(littleEndian(random(NOISE_BYTES)) >> 3n >= BigInt(stop));
			drawn += goesOn;
		}
		return Math.min(drawn, chosen);
	};

	const placeOf = ({ question, level }) => question.levels.indexOf(level);
	const at = (answers, place) => answers.map((answer) => ({ ...answer, level: answer.question.levels[place] }));
	/** Places of the levels that may be used; none where the kept one is more open than the chosen one. */
	const possible = (kept, chosen) => (kept === null ? [...names.keys()].slice(0, chosen + 1) : [names.indexOf(kept)].filter((place) => place <= chosen));

	return {
		draw,
		/** The answers at the level that is used, and the labels that are then kept; `afford` refuses what costs too much. */
		use: (known, author, answers, newLabel, afford, random) => {
			const [chosen, ...others] = new Set(answers.map(placeOf));
			if (others.length) fail("AnswerError", "all answers of a report must have one level where a lottery draws it");
			const kept = newLabel ? null : keptBy(known, author);
			const places = possible(kept, chosen);
			if (!places.length) {
				const rule = `level '${names[chosen]}' is stricter than '${kept}', which this device uses`;
				fail("AnswerError", `${rule}: ask for a new draw (new_label), which shows that the level changed`);
			}
			if (kept !== null) return { answers: at(answers, places[0]), labels: known.labels };
			for (const place of places) afford(at(answers, place));
			const place = draw(chosen, random);
			const label = { author, levels: levelSet, label: names[place], told: [] };
			return { answers: at(answers, place), labels: [...known.labels.filter((each) => !isKept(author)(each)), label] };
		},
		/** The most that answers can cost; infinite where they need a new draw. */
		quote: (known, author, answers, newLabel, costOf) => {
			const drawn = keptBy(known, author);
			if (!answers.length) return { cost: 0, drawn };
			const costs = possible(newLabel ? null : drawn, placeOf(answers[0])).map((place) => costOf(at(answers, place)));
			return { cost: costs.length ? Math.max(...costs) : Infinity, drawn };
		},
		explain: (_, words) => {
			const used = words.say("lottery", { strictest: names[0], open: names.at(-1) }, HIDDEN);
			return `${used}\n${words.say("lottery.told", { odds: odds(words, told) }, HIDDEN)}`;
		},
		explainCap: (_, signer, { say }) => [say(signer ? "lottery.kept" : "lottery.unsigned", {}, HIDDEN)],
	};
};

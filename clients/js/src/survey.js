/** See pldp.survey: every rule of Python's reader, for the spelled-out form only. */
import { canonical, sha256 } from "./bytes.js";
import { TOTAL } from "./epsilon.js";
import { fail } from "./errors.js";
import { questionOf } from "./questions.js";
import { check, fields, levelsOf, microOf, optionalText, shownOf, sumOfLargest, textOf } from "./reading.js";
import { ONCE, RULES, TRACKED } from "./repeat.js";

/** What people read beside the questions, where the file has nothing of it. */
const PLAIN = { texts: {}, closes: "", logo: "", language: "en", languages: [], translation: () => undefined };

const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

export const readSurvey = async (text, options = {}) => {
	check(globalThis.crypto?.subtle, "survey", "needs crypto.subtle, so https");
	const file = parse(text);
	const signed = file?.has?.("signature");
	const { survey, signature } = signed ? fields(file, "file", ["survey", "signature"]) : { survey: file };
	const built = await build(survey);
	const bytes = canonical(survey);
	const keys = "trustedKey" in options ? [options.trustedKey] : [];
	const trusted = keys.length > 0;
	const signer = signed || trusted ? await (await import("./signature.js")).verify(bytes, signature, keys) : "";
	const hash = await sha256(bytes);
	// Who asks, as far as a device can know, and whose account on it pays.
	return { ...built, hash, signer, trusted, author: signer || hash, account: trusted ? signer : "" };
};

/** JSON.parse takes the last of two equal keys, and 1.0 for 1; what is left outside of strings shows it. */
const parse = (text) => {
	const isTable = (entry) => entry && typeof entry === "object" && !Array.isArray(entry);
	const bones = (json) => [...json.replace(STRINGS, "").replace(/\s/g, "")].sort().join();
	try {
		const file = JSON.parse(text, (_, entry) => (isTable(entry) ? new Map(Object.entries(entry)) : entry));
		if (bones(text) === bones(canonical(file))) return file;
	} catch {}
	return check(false, "survey", "must be JSON without repeated keys, its numbers integers");
};

/** What the cheapest report that people can be asked for costs: any `ask` answers, the required ones, or one. */
const leastOf = (questions, ask) => {
	const charges = questions.map(({ levels }) => levels[0].charge);
	const needed = charges.filter((_, place) => questions[place].required);
	return ask ? sumOfLargest(charges, ask) : needed.length ? sumOfLargest(needed, needed.length) : Math.min(...charges);
};

const build = async (document) => {
	const presented = ["texts", "closes", "logo", "language", "languages"];
	const optional = ["collector", "total_epsilon", "ask", "hide_level", "repeat", "shuffle", ...presented];
	const file = fields(document, "survey", ["pldp", "title", "levels", "questions"], optional);
	check(file.pldp === 1, "pldp");
	const levels = levelsOf(file.levels, "levels", (name, entry, key) => {
		const { epsilon, text } = fields(entry, key, ["epsilon"], ["text"]);
		return { name, micro: microOf(epsilon, key, TOTAL), text: optionalText(text, key) };
	});
	check(Array.isArray(file.questions) && file.questions.length, "questions");
	const { ask, hide_level, repeat = ONCE } = file;
	check(RULES.includes(repeat) && file.repeat !== ONCE, "repeat");
	const isLottery = hide_level?.has?.("lottery");
	check(repeat !== TRACKED || hide_level === undefined || isLottery, "hide_level", "labels cannot hide levels where answers are tracked");
	const reading = file.questions.map((entry) => questionOf(entry, levels, repeat === TRACKED));
	await Promise.allSettled(reading); // the first wrong question is refused, whatever is loaded first
	const questions = await Promise.all(reading);
	const byName = new Map(questions.map((each) => [each.name, each]));
	check(new Set(questions.map(({ name }) => shownOf(name))).size === questions.length, "questions");
	check(ask === undefined || (Number.isInteger(ask) && ask >= 1 && ask < questions.length), "ask");
	const shuffle = file.shuffle && fields(file.shuffle, "shuffle", ["by", "people"]);
	const people = shuffle?.people ?? 2;
	check(Number.isInteger(people) && people >= 2 && people <= 1e10, "shuffle.people");
	const { hidingOf } = hide_level === undefined ? {} : await (isLottery ? import("./lottery.js") : import("./hiding.js"));
	const hiding = await hidingOf?.(hide_level, levels, questions, ask ?? questions.length);
	const total = microOf(file.total_epsilon, "total_epsilon", TOTAL);
	// Where labels hide levels, a report costs more than its answers, and the device says so when it is asked for one.
	check(hiding?.channel || total >= leastOf(questions, ask), "total_epsilon");
	const named = { title: textOf(file.title, "title"), collector: optionalText(file.collector, "collector"), levels, questions };
	const presentation = presented.some((key) => key in file) ? (await import("./texts.js")).presentation : () => PLAIN;
	return {
		...named,
		...presentation(file, named),
		ask,
		total,
		repeat,
		shuffle: shuffle && { by: textOf(shuffle.by, "shuffle.by"), people },
		hiding,
		// The argument is not repeated: with swapped arguments it would be the answer.
		question: (name) =>
			byName.get(name) ?? fail("AnswerError", `question must be one of ${[...byName.keys()].join(", ")}; this one is not`),
	};
};

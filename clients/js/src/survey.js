/** See pldp.survey: every rule of Python's reader, for the spelled-out form only. */
import { canonical, sha256 } from "./bytes.js";
import { TOTAL } from "./epsilon.js";
import { fail } from "./errors.js";
import { questionOf } from "./questions.js";
import { check, fields, levelsOf, microOf, optionalText, sumOfLargest, textOf } from "./reading.js";

const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

export const readSurvey = async (text, options = {}) => {
	check(globalThis.crypto?.subtle, "survey", "needs crypto.subtle, so https");
	const file = parse(text);
	const signed = file?.has?.("signature");
	const { survey, signature } = signed ? fields(file, "file", ["survey", "signature"]) : { survey: file };
	const built = await build(survey);
	const bytes = canonical(survey);
	const trusted = "trustedKey" in options ? [options.trustedKey] : [];
	if (signed || trusted.length) await (await import("./signature.js")).verify(bytes, signature, trusted);
	return { ...built, hash: await sha256(bytes) };
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

const build = async (document) => {
	const optional = ["collector", "total_epsilon", "ask", "hide_level"];
	const file = fields(document, "survey", ["pldp", "title", "levels", "questions"], optional);
	check(file.pldp === 1, "pldp");
	const levels = levelsOf(file.levels, "levels", (name, entry, key) => {
		const { epsilon, text } = fields(entry, key, ["epsilon"], ["text"]);
		return { name, micro: microOf(epsilon, key, TOTAL), text: optionalText(text, key) };
	});
	check(Array.isArray(file.questions) && file.questions.length, "questions");
	const reading = file.questions.map((entry) => questionOf(entry, levels));
	await Promise.allSettled(reading); // the first wrong question is refused, whatever is loaded first
	const questions = await Promise.all(reading);
	const byName = new Map(questions.map((each) => [each.name, each]));
	check(byName.size === questions.length, "questions");
	const { ask, hide_level } = file;
	check(ask === undefined || (Number.isInteger(ask) && ask >= 1 && ask < questions.length), "ask");
	const total = microOf(file.total_epsilon, "total_epsilon", TOTAL);
	const strictest = questions.map((question) => question.levels[0].charge);
	const least = ask ? sumOfLargest(strictest, ask) : Math.min(...strictest);
	check(total >= least, "total_epsilon");
	const { hidingOf } = hide_level === undefined ? {} : await import("./hiding.js");
	return {
		title: textOf(file.title, "title"),
		collector: optionalText(file.collector, "collector"),
		levels,
		questions,
		ask,
		total,
		hiding: await hidingOf?.(hide_level, levels, questions, ask ?? questions.length),
		// What came is not repeated: with swapped arguments it would be the answer.
		question: (name) =>
			byName.get(name) ?? fail("AnswerError", `question must be one of ${[...byName.keys()].join(", ")}; what came is not`),
	};
};

/** Tables of the file are Maps, so that no name in it can mean anything else. */
import { byCodePoint, canonical, ed25519, sha256 } from "./bytes.js";
import { channelOf, jointEpsilon, levelLeak } from "./channels.js";
import { epsilonText, microOfText } from "./epsilon.js";
import { fail } from "./errors.js";

const [NAME, TEXT, MOST_VALUES, MOST_LEVELS] = [64, 2000, 1e6, 100];
const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

const check = (good, key, rule = "must be as `pldp survey compile` writes it") =>
	good || fail("SurveyError", `${key}: ${rule}`);
const sumOfLargest = (numbers, count) => numbers.sort((a, b) => b - a).slice(0, count).reduce((a, b) => a + b);
const namesOf = (things) => things.map(({ name }) => name);
const placesOf = (things) => new Map(things.map((each, place) => [each, place]));
const once = (make, known = new Map()) => (key) => known.get(key) ?? known.set(key, make(key)).get(key);

export const readSurvey = async (text, options = {}) => {
	check(globalThis.crypto?.subtle, "survey", "needs crypto.subtle, so https");
	const file = parse(text);
	const signed = file?.has?.("signature");
	const { survey, signature } = signed ? fields(file, "file", ["survey", "signature"]) : { survey: file };
	const built = build(survey);
	const bytes = canonical(survey);
	if (signed || "trustedKey" in options) await verify(bytes, signature, options);
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

const table = (entry, key, required, optional = []) => {
	check(entry instanceof Map, key);
	for (const name of entry.keys()) check([...required, ...optional].includes(name), `${key}.${name}`);
	for (const name of required) check(entry.has(name), `${key}.${name}`);
	return entry;
};

const fields = (...known) => Object.fromEntries(table(...known));

const textOf = (entry, key, longest = TEXT, form = /\P{White_Space}/u) => {
	const fits = typeof entry === "string" && [...entry].length <= longest && form.test(entry);
	check(fits && entry === entry.normalize() && !/(?!\n)[\p{Cc}\p{Cs}]/u.test(entry), key);
	return entry;
};

const optionalText = (entry, key) => (entry === undefined ? "" : textOf(entry, key, TEXT, /[^]/));

const microOf = (entry, key) => {
	if (entry === undefined) return Infinity;
	const micro = microOfText(entry);
	check(micro && epsilonText(micro) === entry, key);
	return micro;
};

const levelsOf = (entry, key, read) => {
	check(entry instanceof Map && entry.size && entry.size <= MOST_LEVELS, key);
	const levels = [...entry].map(([name, content]) => read(textOf(name, key, NAME), content, `${key}.${name}`));
	return levels.sort((a, b) => a.micro - b.micro || byCodePoint(a.name, b.name));
};

const build = (document) => {
	const optional = ["collector", "total_epsilon", "ask", "hide_level"];
	const file = fields(document, "survey", ["pldp", "title", "levels", "questions"], optional);
	check(file.pldp === 1, "pldp");
	const levels = levelsOf(file.levels, "levels", (name, entry, key) => {
		const { epsilon, text } = fields(entry, key, ["epsilon"], ["text"]);
		return { name, micro: microOf(epsilon, key), text: optionalText(text, key) };
	});
	check(Array.isArray(file.questions) && file.questions.length, "questions");
	const questions = file.questions.map((entry) => questionOf(entry, levels));
	const byName = new Map(questions.map((each) => [each.name, each]));
	check(byName.size === questions.length, "questions");
	const { ask } = file;
	check(ask === undefined || (Number.isInteger(ask) && ask >= 1 && ask < questions.length), "ask");
	const total = microOf(file.total_epsilon, "total_epsilon");
	const strictest = questions.map((question) => question.levels[0].micro);
	const least = ask ? sumOfLargest(strictest, ask) : Math.min(...strictest);
	check(total >= least, "total_epsilon");
	return {
		title: textOf(file.title, "title"),
		collector: optionalText(file.collector, "collector"),
		levels,
		questions,
		ask,
		total,
		hiding: hidingOf(file.hide_level, levels, questions, ask),
		// What came is not repeated: with swapped arguments it would be the answer.
		question: (name) =>
			byName.get(name) ?? fail("AnswerError", `question must be one of ${[...byName.keys()].join(", ")}; what came is not`),
	};
};

const questionOf = (entry, known) => {
	const keys = ["name", "text", "kind", "values", "levels", "mechanism", "weights"];
	const { name, text, kind, values, ...file } = fields(entry, "question", keys);
	const key = `question ${textOf(name, "question", NAME)}`;
	check(kind === "choice", `${key}.kind`);
	check(Array.isArray(values) && values.length >= 2 && values.length <= MOST_VALUES, `${key}.values`);
	const places = placesOf(values.map((label) => textOf(label, `${key}.values`)));
	check(places.size === values.length, `${key}.values`);
	const levels = levelsOf(file.levels, `${key}.levels`, (level, epsilon, where) => ({
		...check(known.find((each) => each.name === level), where),
		micro: microOf(epsilon, where),
	}));
	const names = namesOf(levels);
	const ranks = placesOf(names);
	const mechanisms = table(file.mechanism, `${key}.mechanism`, names);
	const weights = table(file.weights, `${key}.weights`, names);
	const channels = levels.map(({ name: level, micro }) =>
		channelOf(`${key}, level ${level}`, mechanisms.get(level), values.length, weights.get(level), micro));
	const unknown = (rule) => fail("AnswerError", `${rule} of question '${name}'; what came is not`);
	return {
		name,
		text: textOf(text, `${key}.text`, TEXT, /^/),
		values,
		levels,
		channels,
		identity: once((level) => sha256(canonical([name, kind, values, level, mechanisms.get(level), weights.get(level)]))),
		indexOf: (value) => places.get(value) ?? unknown(`value must be one of the ${values.length} labels`),
		levelOf: (level) => ranks.get(level ?? names[0]) ?? unknown(`level must be one of ${names.join(", ")}`),
	};
};

const hidingOf = (entry, levels, questions, ask = questions.length) => {
	if (entry === undefined) return null;
	const key = "hide_level";
	const { epsilon, mechanism, weights, leak_cap } = fields(entry, key, ["epsilon", "mechanism", "weights"], ["leak_cap"]);
	check(levels.length > 1 && levels.every(({ micro }, place) => micro !== levels[place + 1]?.micro), key);
	const names = namesOf(levels);
	for (const { levels: own, channels } of questions) {
		check(canonical(namesOf(own)) === canonical(names), key);
		check(channels.every(({ form }) => form === channels[0].form), key);
	}
	const outputs = sumOfLargest(questions.map(({ channels }) => levelLeak(channels)), ask);
	const label = microOf(epsilon, key);
	check(mechanism === "krr" && outputs + label <= microOf(leak_cap, key), key);
	const channel = channelOf(key, mechanism, levels.length, weights, label);
	return {
		channel,
		leak: channel.micro + outputs,
		joint: ({ channels }) => jointEpsilon(channels, channel.micro),
		identity: (level) => sha256(canonical([names, mechanism, weights, level])),
	};
};

const verify = async (text, entry, options) => {
	const sure = (good, rule) => good || fail("SignatureError", `signature: ${rule}`);
	const hexadecimal = (given, digits) => {
		sure(RegExp(`^[0-9a-f]{${digits}}$`, "i").test(given), `must have ${digits} hexadecimal digits`);
		return String(given).toLowerCase();
	};
	sure(entry, "is missing, but a trusted key was given");
	const { algorithm, public_key, signature } = fields(entry, "signature", ["algorithm", "public_key", "signature"]);
	const [key, bytes] = [hexadecimal(public_key, 64), hexadecimal(signature, 128)];
	sure(algorithm === "ed25519", "must be ed25519");
	const trusted = !("trustedKey" in options) || hexadecimal(options.trustedKey, 64) === key;
	sure(trusted, "was not made with the trusted key");
	const good = await ed25519(key, bytes, text).catch(({ name }) =>
		sure(false, `cannot be checked, so the survey is refused (Ed25519 gave ${name})`));
	sure(good === true, "does not fit the survey; the file was changed after signing");
};

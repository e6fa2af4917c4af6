/** Entries of a survey file; its tables are Maps, so that no name in it can mean anything else. */
import { byCodePoint } from "./bytes.js";
import { epsilonText, microOfText } from "./epsilon.js";
import { fail } from "./errors.js";

export const NAME = 64;
const [TEXT, MOST_VALUES, MOST_LEVELS] = [2000, 1e6, 100];

export const check = (good, key, rule = "must be as `pldp survey compile` writes it") =>
	good || fail("SurveyError", `${key}: ${rule}`);

export const sumOfLargest = (numbers, count) => numbers.sort((a, b) => b - a).slice(0, count).reduce((a, b) => a + b);
export const namesOf = (things) => things.map(({ name }) => name);

export const table = (entry, key, required, optional = []) => {
	check(entry instanceof Map, key);
	for (const name of entry.keys()) check([...required, ...optional].includes(name), `${key}.${name}`);
	for (const name of required) check(entry.has(name), `${key}.${name}`);
	return entry;
};

export const fields = (...known) => Object.fromEntries(table(...known));

/** Direction marks and characters that nobody sees; and joiners, which some scripts and pictures need. */
const UNSEEN = new RegExp("[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f\\u202a-\\u202e" +
	"\\u2060-\\u206f\\u3164\\ufe00-\\ufe0e\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]", "u");
export const shownOf = (text) => text.replace(/[\u200c\u200d\ufe0f]/g, "");

/**
 * Line breaks are left to Python, which refuses them in names and labels of new surveys, as it does names that look alike:
 * this reads compiled surveys only, which passed that, or which people have been answering since before.
 */
export const textOf = (entry, key, longest = TEXT, form = /\P{White_Space}/u) => {
	const fits = typeof entry === "string" && [...entry].length <= longest && form.test(entry);
	check(fits && entry === entry.normalize() && !/(?!\n)[\p{Cc}\p{Cs}]/u.test(entry) && !UNSEEN.test(entry), key);
	return entry;
};

export const optionalText = (entry, key, longest = TEXT) =>
	entry === undefined ? "" : textOf(entry, key, longest, /[^]/);

export const microOf = (entry, key, largest) => {
	if (entry === undefined) return Infinity;
	const micro = microOfText(entry, largest);
	check(micro && epsilonText(micro) === entry, key);
	return micro;
};

export const levelsOf = (entry, key, read, order = (a, b) => byCodePoint(a.name, b.name)) => {
	check(entry instanceof Map && entry.size && entry.size <= MOST_LEVELS, key);
	const levels = [...entry].map(([name, content]) => read(textOf(name, key, NAME), content, `${key}.${name}`));
	return levels.sort((a, b) => a.micro - b.micro || order(a, b));
};

export const labelsOf = ({ values, option_order: order }, key) => {
	check(order === undefined || order === "random", `${key}.option_order`);
	check(Array.isArray(values) && values.length >= 2 && values.length <= MOST_VALUES, key);
	const places = new Map(values.map((label, place) => [textOf(label, key), place]));
	check(new Set(values.map(shownOf)).size === values.length, key);
	return { values, places, size: values.length, scale: values, inRandomOrder: order !== undefined };
};

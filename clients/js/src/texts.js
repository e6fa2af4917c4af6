/** What people read beside the questions, and all texts in other languages: see pldp.survey.texts and pldp.survey.languages. */
import { check, fields, NAME, shownOf, table, textOf } from "./reading.js";

const [PASSAGE, MOST_LANGUAGES] = [10000, 50];
const PASSAGES = ["introduction", "thanks", "contact", "notice"];
const DATE = /^(?!0000)\d{4}-\d\d-\d\d$/;
const LANGUAGE = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/;
const LOGO = /^[A-Za-z0-9_][A-Za-z0-9_.-]*\.(png|jpg|jpeg|webp|svg)$/;

const isDate = (text) => {
	const day = typeof text === "string" && DATE.test(text) && new Date(`${text}T00:00:00Z`);
	return day && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};

/** Every text of a survey, by its place; tables are Maps. */
const treeOf = ({ title, collector, levels, questions }, texts) => {
	const branch = (...entries) => new Map(entries.filter(Boolean));
	const levelTexts = ({ name, text }) => [name, branch(["name", name], text && ["text", text])];
	const questionTexts = ({ name, text, values, unit }) => [name, branch(
		["text", text || name],
		values && ["values", new Map(values.map((label) => [label, label]))],
		unit && ["unit", unit])];
	const passages = Object.entries(texts);
	return branch(["title", title], collector && ["collector", collector], passages.length && ["texts", new Map(passages)],
		["levels", new Map(levels.map(levelTexts))], ["questions", new Map(questions.map(questionTexts))]);
};

const longestOf = (path) =>
	path[0] === "texts" ? PASSAGE : path.length === 3 && ["name", "unit"].includes(path[2]) ? NAME : undefined;

/** Refuse places that the survey does not have. */
const checkTexts = (entry, key, tree, path = []) => {
	check(table(entry, key, [], [...tree.keys()]).size, key);
	for (const [name, content] of entry) {
		const here = [...path, name];
		if (tree.get(name) instanceof Map) checkTexts(content, `${key}.${name}`, tree.get(name), here);
		else textOf(content, `${key}.${name}`, longestOf(here));
	}
};

const differ = (texts) => new Set(texts.map(shownOf)).size === texts.length;

/** The texts, and `translation(language, ...path)`, undefined where there is none. */
export const presentation = (file, named) => {
	const texts = file.texts === undefined ? {} : fields(file.texts, "texts", [], PASSAGES);
	check(file.texts === undefined || Object.keys(texts).length, "texts");
	for (const [name, text] of Object.entries(texts)) textOf(text, `texts.${name}`, PASSAGE);
	const { closes = "", logo = "", language = "en", languages = new Map() } = file;
	check(!("closes" in file) || isDate(closes), "closes");
	check(!("logo" in file) || (typeof logo === "string" && logo.length <= NAME && LOGO.test(logo)), "logo");
	check(LANGUAGE.test(language) && file.language !== "en" && typeof language === "string", "language");
	const tree = treeOf(named, texts);
	check(languages instanceof Map && languages.size <= MOST_LANGUAGES && ("languages" in file) === languages.size > 0, "languages");
	for (const [name, entry] of languages) {
		const key = `languages.${name}`;
		check(LANGUAGE.test(name) && name !== language, key);
		checkTexts(entry, key, tree);
		const shown = (...path) => path.reduce((found, part) => found?.get(part), entry) ?? path.reduce((found, part) => found.get(part), tree);
		check(differ(named.levels.map((level) => shown("levels", level.name, "name"))), `${key}.levels`);
		for (const question of named.questions)
			check(differ((question.values ?? []).map((label) => shown("questions", question.name, "values", label))), `${key}.questions`);
	}
	const translation = (name, ...path) => path.reduce((found, part) => found?.get(part), languages.get(name));
	return { texts, closes, logo, language, languages: [...languages.keys()], translation };
};

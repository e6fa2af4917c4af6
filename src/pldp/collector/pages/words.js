/** The words of this page: one catalogue per language, and the survey's own texts in the language that is shown. */
import { epsilonText } from "./device/epsilon.js";
import { PldpError } from "./device/errors.js";
import { english, fill, wordsOf } from "./device/words.js";

/** Languages with a catalogue in `languages`; the first is for everybody else. */
const CATALOGUES = ["en", "de"];
const RIGHT_TO_LEFT = /^(ar|ckb|dv|fa|he|ps|sd|ug|ur|yi)\b/;

let [texts, page, shown, survey] = [{}, CATALOGUES[0], CATALOGUES[0], null];

const baseOf = (language) => language.toLowerCase().split("-")[0];

/** What the address asks for, then what the browser does. */
const wanted = () => [new URLSearchParams(location.search).get("lang"), ...navigator.languages].filter(Boolean);

/** The first of these that is on offer, by its whole name or by its language. */
const match = (asked, offered) => {
	for (const each of asked) {
		const found = offered.find((one) => one.toLowerCase() === each.toLowerCase()) ?? offered.find((one) => baseOf(one) === baseOf(each));
		if (found) return found;
	}
	return null;
};

const load = async (language) => {
	const response = await fetch(new URL(`languages/${language}.json`, import.meta.url)).catch(() => null);
	if (!response?.ok) throw new PldpError(`languages/${language}.json`);
	return response.json();
};

/** Fill what the page itself says. */
const write = () => {
	document.documentElement.lang = page;
	document.documentElement.dir = RIGHT_TO_LEFT.test(page) ? "rtl" : "ltr";
	for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
	for (const element of document.querySelectorAll("[data-label]")) element.ariaLabel = t(element.dataset.label);
};

/** Take the catalogue that suits the browser, or the language in which the survey is shown. */
export const openWords = async (read = null) => {
	survey = read;
	const offered = read ? [read.language, ...read.languages] : CATALOGUES;
	const language = match(wanted(), offered) ?? offered[0];
	const catalogue = match([language], CATALOGUES) ?? CATALOGUES[0];
	if (catalogue !== page || !texts["page.title"]) [texts, page] = [await load(catalogue), catalogue];
	shown = language;
	write();
	return { language: shown, offered };
};

/** The text of this key; of several by number, the one for `count`. */
export const t = (key, values = {}) => {
	const plural = "count" in values ? `${key}.${new Intl.PluralRules(page).select(values.count)}` : key;
	return fill(texts[plural] ?? texts[`${key}.other`] ?? texts[key] ?? key, values);
};

/** A decimal number as this language writes it; in texts that contain other things nothing changes. */
export const number = (text) => {
	if (!/^-?\d+(\.\d+)?$/.test(String(text))) return String(text);
	const [, decimals = ""] = String(text).split(".");
	return new Intl.NumberFormat(page, { minimumFractionDigits: decimals.length, useGrouping: false }).format(text);
};

export const epsilon = (micro) => (micro === Infinity ? t("infinite") : number(epsilonText(micro)));

/** The ε that a person typed in this language. */
export const typedNumber = (text) => (number("0.5").includes(",") ? text.replace(",", ".") : text);

export const day = (text) =>
	new Date(`${text}T00:00:00Z`).toLocaleDateString(page, { timeZone: "UTC", day: "numeric", month: "long", year: "numeric" });

const translated = (original, ...path) => survey?.translation(shown, ...path) ?? original;

export const titleOf = ({ title }) => translated(title, "title");
export const collectorOf = ({ collector }) => translated(collector, "collector");
export const passageOf = ({ texts: passages }, name) => translated(passages[name] ?? "", "texts", name);
export const levelName = (name) => translated(name, "levels", name, "name");
export const levelText = ({ name, text }) => translated(text, "levels", name, "text");
export const questionText = ({ name, text }) => translated(text || name, "questions", name, "text");
export const labelOf = ({ name }, label) => translated(label, "questions", name, "values", label);
export const unitOf = ({ name, unit }) => translated(unit, "questions", name, "unit");

/** The name of a language in itself. */
export const nameOf = (language) => new Intl.DisplayNames([language], { type: "language" }).of(language);

/** What the device says, in the language of the page. */
export const deviceWords = () => {
	const own = Object.fromEntries(Object.entries(texts).filter(([key]) => key.startsWith("device.")).map(([key, text]) => [key.slice(7), text]));
	const how = { number, label: labelOf, unit: unitOf };
	return Object.keys(own).length ? wordsOf(own, how) : { ...english, ...how, quoted: (question, label) => english.say("quoted", { label: labelOf(question, label) }) };
};

import { readFileSync } from "node:fs";
import { readSurvey } from "../src/index.js";

/** The text of a survey in test/surveys. */
export const surveyText = (name) => readFileSync(new URL(`../test/surveys/${name}`, import.meta.url), "utf8").trim();

export const survey = (name) => readSurvey(surveyText(name));

/** The same survey with something changed by a function of its plain data. */
export const changed = (name, change) => {
	const document = JSON.parse(surveyText(name));
	change(document);
	return JSON.stringify(document);
};

/** A `localStorage` in memory. */
export const fakeStorage = () => {
	const held = new Map();
	return {
		getItem: (key) => held.get(key) ?? null,
		setItem: (key, text) => void held.set(key, text),
		clear: () => held.clear(),
	};
};

/** Expect a PldpError of this name whose message fits. */
export const named = (name, message = /./) => (error) => {
	if (error.name !== name || !message.test(error.message)) throw error;
	return true;
};

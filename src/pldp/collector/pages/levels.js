/** The choice of a level, strictest first and preselected. */
import { epsilonText } from "./device/epsilon.js";
import { pricesOf } from "./device/repeat.js";
import { make } from "./dom.js";
import { KINDS } from "./kinds/registry.js";
import { oddsOf } from "./odds.js";

/** The question's level for a chosen one: the same, or else the loosest that is stricter; null if all are looser. */
export const levelFor = (survey, question, chosen) => {
	const rank = survey.levels.findIndex(({ name }) => name === chosen);
	const allowed = survey.levels.slice(0, rank + 1).map(({ name }) => name);
	return allowed.findLast((name) => question.levels.some((level) => level.name === name)) ?? null;
};

const offered = (survey, questions, chosen) =>
	questions.flatMap((question) => {
		const name = levelFor(survey, question, chosen);
		return name === null ? [] : [{ question, level: question.levels.find((level) => level.name === name) }];
	});

/** What answering everything costs at most, by the survey's rule for repeats; a hidden level costs as the dearest does. */
const costOf = ({ repeat, hiding }, answers, cap) => {
	const paid = answers.map(({ question, level }) => (hiding ? question.levels.at(-1) : level));
	const prices = paid.map((level) => pricesOf(repeat, level).map(([, micro]) => micro));
	const [first, ...more] = prices[0].map((_, place) => epsilonText(prices.reduce((sum, each) => sum + each[place], 0)));
	const words = {
		once: `ε = ${first}, however often you are asked.`,
		fresh: `ε = ${first} in every round.`,
		tracked: `ε = ${first} for one report; ε = ${more[0]} for answers that never change, however often you are asked; ` +
			`ε = ${more[1]} for every round in which two life stories differ. Your device stops at ε = ${epsilonText(cap)}.`,
	};
	return `Answering everything costs at most ${words[repeat]}`;
};

/** Of two answers that are equally likely, whoever sees reports of this ε together guesses the right one so often at most. */
const guessed = (micro) => {
	const percent = 100 / (1 + Math.exp(-micro / 1e6));
	return percent > 99 ? Number(percent.toPrecision(4)) : percent.toFixed(0);
};

/** What a guess is worth: one answer, and everything together. */
const guessOf = (answers) => {
	const charges = answers.map(({ level }) => level.charge);
	const all = charges.length > 1 ? `; between two whole reports, ${guessed(charges.reduce((a, b) => a + b))} times` : "";
	return `Whoever sees your report and guesses which of two equally likely answers you gave is right at most ${guessed(Math.max(...charges))} ` +
		`times of 100 (50 without it)${all}.`;
};

const wordsOf = (survey, answers, most, cap) => {
	const promised = new Set(["an answer", ...answers.map(({ question }) => KINDS[question.kind].protects(question))]);
	const bare = answers.some(({ level }) => level.unprotected);
	return [
		`ε = ${epsilonText(most)} for ${[...promised].join(" or ")}.`,
		bare && "Some answers are not protected: a report can prove them. The questions say which.",
		costOf(survey, answers, cap),
		!bare && guessOf(answers),
	].filter(Boolean).join(" ");
};

const card = (survey, answers, { name, text }, place, cap) => {
	const most = Math.max(...answers.map(({ level }) => level.micro));
	const id = `level-${place}`;
	const input = make("input", { type: "radio", name: "level", value: name, id, checked: place === 0 });
	input.setAttribute("aria-describedby", `${id}-odds`);
	return make("div", { className: "level" },
		make("div", { className: "head" }, input, make("label", { htmlFor: id }, make("strong", {}, name), text && ` – ${text}`)),
		make("div", { id: `${id}-odds` }, oddsOf(most),
			make("p", { className: "muted small" }, wordsOf(survey, answers, most, cap))));
};

export const showLevels = (place, survey, questions, cap) =>
	place.replaceChildren(
		...survey.levels
			.map((level) => [offered(survey, questions, level.name), level])
			.filter(([answers]) => answers.length)
			.map(([answers, level], index) => card(survey, answers, level, index, cap)));

/** The choice of a level, strictest first and preselected. */
import { epsilonText } from "./device/epsilon.js";
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

const wordsOf = (answers, most) => {
	const promised = new Set(["an answer", ...answers.map(({ question }) => KINDS[question.kind].protects)]);
	const bare = answers.some(({ level }) => level.unprotected);
	const all = answers.reduce((sum, { level }) => sum + level.charge, 0);
	return [
		`ε = ${epsilonText(most)} for ${[...promised].join(" or ")}.`,
		bare && "Some answers are not protected: a report can prove them. The questions say which.",
		`Answering everything costs at most ε = ${epsilonText(all)}.`,
	].filter(Boolean).join(" ");
};

const card = (answers, { name, text }, place) => {
	const most = Math.max(...answers.map(({ level }) => level.micro));
	const id = `level-${place}`;
	const input = make("input", { type: "radio", name: "level", value: name, id, checked: place === 0 });
	input.setAttribute("aria-describedby", `${id}-odds`);
	return make("div", { className: "level" },
		make("div", { className: "head" }, input, make("label", { htmlFor: id }, make("strong", {}, name), text && ` – ${text}`)),
		make("div", { id: `${id}-odds` }, oddsOf(most),
			make("p", { className: "muted small" }, wordsOf(answers, most))));
};

export const showLevels = (place, survey, questions) =>
	place.replaceChildren(
		...survey.levels
			.map((level) => [offered(survey, questions, level.name), level])
			.filter(([answers]) => answers.length)
			.map(([answers, level], index) => card(answers, level, index)));

/** The choice of a level, strictest first and preselected. */
import { epsilonText } from "./device/epsilon.js";
import { make } from "./dom.js";
import { oddsOf } from "./odds.js";

/** The question's level for a chosen one: the same, or else the loosest that is stricter; null if all are looser. */
export const levelFor = (survey, question, chosen) => {
	const rank = survey.levels.findIndex(({ name }) => name === chosen);
	const allowed = survey.levels.slice(0, rank + 1).map(({ name }) => name);
	return allowed.findLast((name) => question.levels.some((level) => level.name === name)) ?? null;
};

export const costsOf = (survey, questions, chosen) =>
	questions.flatMap((question) => {
		const name = levelFor(survey, question, chosen);
		return name === null ? [] : [question.levels.find((level) => level.name === name).micro];
	});

const card = (survey, questions, { name, text }, place) => {
	const costs = costsOf(survey, questions, name);
	const most = Math.max(...costs);
	const all = costs.reduce((sum, cost) => sum + cost, 0);
	const id = `level-${place}`;
	const input = make("input", { type: "radio", name: "level", value: name, id, checked: place === 0 });
	input.setAttribute("aria-describedby", `${id}-odds`);
	const together = costs.length > 1 ? `; ${costs.length} answers together at most ε = ${epsilonText(all)}` : "";
	return make("div", { className: "level" },
		make("div", { className: "head" }, input, make("label", { htmlFor: id }, make("strong", {}, name), text && ` – ${text}`)),
		make("div", { id: `${id}-odds` }, oddsOf(most),
			make("p", { className: "muted small" }, `ε = ${epsilonText(most)} for an answer${together}.`)));
};

export const showLevels = (place, survey, questions) =>
	place.replaceChildren(
		...survey.levels
			.filter(({ name }) => costsOf(survey, questions, name).length)
			.map((level, index) => card(survey, questions, level, index)));

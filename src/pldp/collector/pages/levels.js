/** The choice of a level, strictest first and preselected. */
import { pricesOf } from "./device/repeat.js";
import { make } from "./dom.js";
import { KINDS } from "./kinds/registry.js";
import { questionOdds, wholeOdds } from "./odds.js";
import { epsilon, levelName, levelText, questionText, t } from "./words.js";

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The question's level for a chosen one: the same, or else the loosest that is stricter; null if all are looser. */
const levelFor = (survey, question, chosen) => {
	const rank = survey.levels.findIndex(({ name }) => name === chosen);
	const allowed = survey.levels.slice(0, rank + 1).map(({ name }) => name);
	return allowed.findLast((name) => question.levels.some((level) => level.name === name)) ?? null;
};

/** The questions that can be answered at a chosen level: those whose price is not more than the required ones leave. */
const offered = async (survey, device, questions, chosen, room) => {
	const found = [];
	for (const question of questions) {
		const name = levelFor(survey, question, chosen);
		if (name !== null) found.push({ question, level: question.levelOf(name), price: await device.price(question.name, name) });
	}
	const isRequired = ({ question }) => question.required;
	const needed = sum(found.filter(isRequired).map(({ price }) => price));
	const complete = found.filter(isRequired).length === questions.filter(({ required }) => required).length;
	if (!complete || needed > room) return [];
	return found.filter((answer) => isRequired(answer) || answer.price + needed <= room);
};

/** Every level that can be chosen, with what can be answered at it. */
export const openLevels = async (survey, device, questions, room) => {
	const levels = [];
	for (const { name, text } of survey.levels) {
		const answers = await offered(survey, device, questions, name, room);
		if (answers.length) levels.push({ name, text, answers, left: questions.length - answers.length });
	}
	return levels;
};

/** What a report with these answers tells at most; it is never more than there is to spend. */
export const toldBy = (answers) => sum(answers.map(({ level }) => (level.unprotected ? Infinity : level.charge)));

/** What answering everything costs over time, by the survey's rule for repeats. */
const costOf = ({ repeat, hiding }, answers, cap) => {
	const paid = answers.map(({ question, level }) => (hiding ? question.levels.at(-1) : level));
	const prices = paid.map((level) => pricesOf(repeat, level).map(([, micro]) => micro));
	const [first, kept, more] = prices[0].map((_, place) => epsilon(sum(prices.map((each) => each[place]))));
	return t(`level.${repeat}`, { first, kept, more, cap: epsilon(cap) });
};

const notesOf = (survey, { answers, left }, room, cap) => {
	const dear = sum(answers.map(({ price }) => price)) > room;
	return [
		answers.some(({ level }) => level.unprotected) && t("level.unprotected"),
		costOf(survey, answers, cap),
		dear && t("level.room", { room: epsilon(room) }),
		left && t("level.left", { count: left }),
	].filter(Boolean).join(" ");
};

const perQuestion = (answers) =>
	make("details", {}, make("summary", {}, t("level.questions")),
		make("ul", {}, ...answers.map(({ question, level }) => {
			const odds = questionOdds(level.unprotected ? Infinity : level.micro);
			const what = KINDS[question.kind].protects(question);
			return make("li", {}, t("level.question", { question: questionText(question), odds, what, epsilon: epsilon(level.micro) }));
		})));

const card = (survey, level, place, room, cap) => {
	const { name, answers } = level;
	const [id, text] = [`level-${place}`, levelText(level)];
	const input = make("input", { type: "radio", name: "level", value: name, id, checked: place === 0 });
	input.setAttribute("aria-describedby", `${id}-odds`);
	// The whole report can cost no more than what is left, whatever is answered.
	const told = Math.min(toldBy(answers.filter((answer) => !answer.level.unprotected)), room);
	return make("div", { className: "level" },
		make("div", { className: "head" }, input, make("label", { htmlFor: id }, make("strong", {}, levelName(name)), text && ` – ${text}`)),
		make("div", { id: `${id}-odds` }, wholeOdds(told), make("p", { className: "muted small" }, notesOf(survey, level, room, cap))),
		perQuestion(answers));
};

export const showLevels = (place, survey, levels, room, cap) =>
	place.replaceChildren(...levels.map((level, index) => card(survey, level, index, room, cap)));

/** The choice of a level, strictest first and preselected. */
import { ofHundred } from "./device/explain.js";
import { pricesOf } from "./device/repeat.js";
import { make } from "./dom.js";
import { questionOdds, wholeOdds } from "./odds.js";
import { epsilon, labelOf, levelName, levelText, number, questionText, t } from "./words.js";

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The question's level for a chosen one: the same, or else the loosest that is stricter; null if all are looser. */
const levelFor = (survey, question, chosen) => {
	const rank = survey.levels.findIndex(({ name }) => name === chosen);
	const allowed = survey.levels.slice(0, rank + 1).map(({ name }) => name);
	return allowed.findLast((name) => question.levels.some((level) => level.name === name)) ?? null;
};

/** What answers cost together, and whether there is as much left, also to be told about a hidden level. */
export const openBudget = async (device, room, newLabel) => {
	const quote = await device.quote({ newLabel });
	const priced = (answers) => quote(answers.map(({ question, level }) => [question.name, level.name]));
	return {
		room,
		cost: (answers) => priced(answers).cost,
		level: (answers) => priced(answers).level,
		/** The level that a lottery drew before. */
		drawn: quote([]).drawn,
		known: (answers) => JSON.stringify(priced(answers)),
		allows: (answers) => {
			const { cost, level } = priced(answers);
			return cost <= room && (!level || level.after <= level.cap);
		},
	};
};

/** The questions that can be answered at a chosen level: those that there is room for beside the required ones. */
const offered = (survey, questions, chosen, budget) => {
	const answers = [];
	for (const question of questions) {
		const name = levelFor(survey, question, chosen);
		if (name !== null) answers.push({ question, level: question.levelOf(name) });
	}
	const required = answers.filter(({ question }) => question.required);
	const isComplete = required.length === questions.filter((question) => question.required).length;
	if (!isComplete || (required.length && !budget.allows(required))) return [];
	return answers.filter((answer) => required.includes(answer) || budget.allows([...required, answer]));
};

/** Every level that can be chosen, with what can be answered at it. */
export const openLevels = (survey, questions, budget) =>
	survey.levels.map(({ name, text }) => {
		const answers = offered(survey, questions, name, budget);
		return { name, text, answers, left: questions.length - answers.length };
	}).filter(({ answers }) => answers.length);

const MOST_SUMS = 4096;

/** ε of the dearest report that there is room for: what it tells is what it costs. */
export const dearest = (answers, budget) => {
	const whole = budget.cost(answers);
	if (budget.allows(answers)) return whole;
	const required = answers.filter(({ question }) => question.required);
	// Answers that cost the same, also together with any others, are gone through once.
	const sets = new Map([["", required]]);
	for (const answer of answers.filter((each) => !required.includes(each))) {
		const more = [...sets.values()].map((some) => [...some, answer]).filter(budget.allows);
		for (const some of more) sets.set(budget.known(some), some);
		if (sets.size > MOST_SUMS) return Math.min(whole, budget.room);
	}
	return Math.max(...[...sets.values()].map(budget.cost));
};

/** What answering everything costs over time, by the survey's rule for repeats. */
const costOf = ({ repeat, hiding }, answers, budget, cap) => {
	if (hiding?.channel) {
		// The report as a whole tells the same at every level; about the answers alone, a stricter level tells less.
		const alone = sum(answers.map(({ level }) => level.charge));
		return `${t("level.alone", { odds: questionOdds(alone), epsilon: epsilon(alone) })} ${t(`level.${repeat}`, { first: epsilon(budget.cost(answers)) })}`;
	}
	const prices = answers.map(({ level }) => pricesOf(repeat, level).map(([, micro]) => micro));
	const [first, kept, more] = prices[0].map((_, place) => epsilon(sum(prices.map((each) => each[place]))));
	return t(`level.${repeat}`, { first, kept, more, cap: epsilon(cap) });
};

const notesOf = (survey, { answers, left }, budget, cap) => [
	costOf(survey, answers, budget, cap),
	!budget.allows(answers) && t("level.room", { room: epsilon(budget.room) }),
	left && t("level.left", { count: left }),
].filter(Boolean).join(" ");

const MOST_PROVED = 6; // labels that are named one by one

/** What a report can prove, label by label: it is no matter of degree, and comes first. */
const proofsOf = (answers) => {
	const proofs = answers.flatMap(({ question, level }) => level.open.map((place) => [question, question.values[place], level.channel.proof?.(place) ?? 1]));
	const lines = proofs.slice(0, MOST_PROVED).map(([question, label, chance]) =>
		t("odds.provable", { question: questionText(question), label: labelOf(question, label), count: number(ofHundred(chance)) }));
	if (proofs.length > MOST_PROVED) lines.push(t("odds.provable more", { count: proofs.length - MOST_PROVED }));
	return lines.map((line) => make("p", {}, make("strong", {}, line)));
};

const perQuestion = (answers) =>
	make("details", {}, make("summary", {}, t("level.questions")),
		make("ul", {}, ...answers.map(({ question, level }) => {
			const values = { question: questionText(question), odds: questionOdds(level.charge), epsilon: epsilon(level.charge) };
			return make("li", {}, t("level.question", values));
		})));

const card = (survey, level, place, budget, cap) => {
	const { name, answers } = level;
	const [id, text] = [`level-${place}`, levelText(level)];
	const input = make("input", { type: "radio", name: "level", value: name, id, checked: place === 0 });
	input.setAttribute("aria-describedby", `${id}-odds`);
	return make("div", { className: "level" },
		make("div", { className: "head" }, input, make("label", { htmlFor: id }, make("strong", {}, levelName(name)), text && ` – ${text}`)),
		make("div", { id: `${id}-odds` }, ...proofsOf(answers), wholeOdds(dearest(answers, budget)),
			make("p", { className: "muted small" }, notesOf(survey, level, budget, cap))),
		perQuestion(answers));
};

export const showLevels = (place, survey, levels, budget, cap) =>
	place.replaceChildren(...levels.map((level, index) => card(survey, level, index, budget, cap)));

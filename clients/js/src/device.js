/** See pldp.device: perturb an answer before it leaves, keep what was sent, and account for it. */
import { systemRandom } from "./bytes.js";
import { epsilonText, microOfText, TOTAL } from "./epsilon.js";
import { fail } from "./errors.js";
import { explainLevel } from "./explain.js";
import { checkSpends, explainCap, spentOn, sum } from "./ledger.js";
import { namesOf } from "./reading.js";
import { chargeOf } from "./repeat.js";
import { check, openSent } from "./sent.js";
import { memoryStore, openState } from "./state.js";
import { english } from "./words.js";

const mapOf = (given) => (given instanceof Map ? given : new Map(Object.entries(given)));
const microOf = (cap) => microOfText(String(cap), TOTAL) ?? fail("EpsilonError", "cap must be above 0, at most 1000");

export const openDevice = async (survey, { store = memoryStore(), cap = null, levelCap = null, round = 1, random = systemRandom } = {}) => {
	check(Number.isSafeInteger(round) && round >= 1, `round must be a whole number from 1 on, not '${String(round).slice(0, 40)}'`);
	const [most, mostOfLevel] = [cap, levelCap].map((each) => (each === null ? null : microOf(each)));
	const state = await openState(store, most, mostOfLevel, random);
	const { hash, total, hiding, author, account, repeat } = survey;
	const asked = await pick(survey, round, state.key);
	const sent = openSent(survey, round, state.key);

	const read = (name, value, levels) => {
		const question = survey.question(name);
		check(asked.includes(name), `question must be one that this person is asked (${asked.join(", ")}), not '${name}'`);
		const named = typeof levels === "object" && levels && mapOf(levels);
		check(!named || named.has(name), `levels must name a level for every question answered; '${name}' has none`);
		return { question, value: question.encode(value), level: question.levelOf(named ? named.get(name) : levels) };
	};

	const spend = (question, level, cost) => ({ survey: hash, question, level, micro_epsilon: cost, round, account });
	const spendOf = (known, { question, level }) => spend(question.name, level.name, chargeOf(level, sent.earlierAt(known, question, level)));


	const draw = async ({ question, value: read, level: { name, channel, stages } }) => {
		const value = typeof read === "function" ? read(random) : read;
		if (!stages) return channel.draw(value, random);
		const parts = ["permanent", author, question.identity, name];
		const settled = await stages.settle(value, (which, count) => state.keptBytes(count, ...parts, which));
		return stages.renew(settled, random);
	};

	/** What is known after a new report is drawn and charged. */
	const make = async (known, chosen, newLabel) => {
		const questions = chosen.map(({ question }) => question);
		sent.checkNames(known, questions);
		const afford = (given) => checkSpends(known, survey, given.map((answer) => spendOf(known, answer)));
		const used = hiding?.use?.(known, author, chosen, newLabel, afford, random);
		const { answers, labels: drawn } = used ?? { answers: chosen, labels: known.labels };
		const places = answers.map(({ question, level }) => question.levels.indexOf(level));
		const hidden = hiding?.allow?.(known, author, questions, places, newLabel);
		const spends = hidden ? [spend("", "", hidden.cost)] : answers.map((answer) => spendOf(known, answer));
		// Refuse before anything is drawn, so that a refusal cannot depend on the outcome.
		checkSpends(known, survey, spends);
		const outputs = [];
		for (const answer of answers) outputs.push(await draw(answer));
		const label = hidden && (hidden.label ?? survey.levels[hiding.channel.draw(places[0], random)].name);
		const said = answers.map(({ question: { name, identity, scale }, level }, place) =>
			({ question: name, identity, scale, level: label ?? level.name, output: outputs[place] }));
		const report = { survey: hash, author, repeat, round, answers: said, withdrawn: false };
		const labels = hidden?.keep(label) ?? drawn;
		return { ...known, ledger: [...known.ledger, ...spends], sent: [...known.sent, report], labels };
	};

	const answerAll = (values, levels, { newLabel = false } = {}) =>
		state.change(async (known) => {
			const answers = Array.from(mapOf(values ?? {}), ([name, value]) => read(name, value, levels));
			check(answers.length, "nothing to answer: values must name at least one question");
			sent.checkRound(known);
			const number = sent.findAll(known, answers.map(({ question }) => question));
			if (number >= 0) return [await sent.reportOf(known, number)];
			const given = answers.map(({ question }) => question);
			for (const question of survey.questions.filter(({ required, name }) => required && asked.includes(name)))
				check(given.includes(question) || sent.find(known, question) >= 0, `question '${question.name}' is required: answer it in the same report`);
			const next = await make(known, answers, newLabel);
			return [await sent.reportOf(next, next.sent.length - 1), next];
		});

	const withdraw = (name) =>
		state.change(async (known) => {
			const number = sent.find(known, survey.question(name));
			check(number >= 0, `question must be one that this device has answered, not '${name}'`);
			const answers = known.sent[number].answers.map((answer) => ({ ...answer, output: null }));
			const reports = known.sent.with(number, { ...known.sent[number], answers, withdrawn: true });
			return [await sent.receiptOf(known, number), { ...known, sent: reports }];
		});

	return {
		asked,
		round,
		answerAll,
		answer: async (name, value, level) =>
			answerAll(new Map([[survey.question(name).name, value]]), new Map([[name, level]])),
		options: async (name) => {
			const { values = [], inRandomOrder, exclusive = [] } = survey.question(name);
			if (!inRandomOrder) return [...values];
			const keys = new Map(await Promise.all(values.map(async (label) => [label, await state.key("order", hash, name, label)])));
			const rank = (label) => `${Number(exclusive.includes(label))}${keys.get(label)}`;
			return values.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
		},
		answered: () =>
			state.change((known) => [namesOf(survey.questions.filter((question) => sent.find(known, question) >= 0))]),
		sent: (name) =>
			state.change(async (known) => {
				const number = sent.find(known, survey.question(name));
				return [number < 0 ? null : { report: await sent.reportOf(known, number), round: known.sent[number].round }];
			}),
		receipt: (report) => state.change(async (known) => [await sent.findReceipt(known, report)]),
		withdraw,
		/**
		 * What new reports would cost now: a function of their questions and levels, [[name, level], …]. Where levels are hidden it also
		 * says what was told about the level before and after such a report, the cap on that, and whether a label was sent; by a lottery,
		 * the most that they can cost, infinite where they need a new draw, and the level that was drawn before.
		 */
		quote: ({ newLabel = false } = {}) =>
			state.change((known) => [(asked) => {
				const answers = asked.map(([name, level]) => ({ question: survey.question(name), level: survey.question(name).levelOf(level) }));
				const costOf = (given) => sum(given.map((answer) => spendOf(known, answer)));
				if (!hiding?.told) return { cost: costOf(answers), level: null, ...hiding?.quote(known, author, answers, newLabel, costOf) };
				const { cost, ...level } = hiding.told(known, author, answers.map(({ question }) => question), newLabel);
				return { cost, level };
			}]),
		changeCap: async (cap = null, { levelCap = null } = {}) => {
			const caps = { ...(cap !== null && { cap: microOf(cap) }), ...(levelCap !== null && { level_cap: microOf(levelCap) }) };
			return state.change((known) => [undefined, { ...known, ...caps }]);
		},
		explain: (level, name = null, words = english) =>
			(name === null ? survey.questions : [survey.question(name)])
				.map((question) => explainLevel(survey, question, question.levelOf(level), words))
				.concat(explainCap(state.known(), survey, words))
				.join("\n"),
		ledger: () => {
			const { ledger: spends, cap: most, level_cap: levelMost } = state.known();
			return { spends, total: sum(spends), cap: most, levelCap: levelMost };
		},
		remaining: () =>
			total === Infinity ? "unlimited" : epsilonText(Math.max(total - spentOn(state.known(), hash), 0)),
	};
};

/** The pick depends on the device's secret only, never on an answer, and is another one in another edition or round. */
const pick = async ({ questions, ask, hash }, round, key) => {
	const names = namesOf(questions);
	if (!ask) return names;
	const keys = await Promise.all(names.map((name) => key("ask", hash, round, name)));
	const last = keys.toSorted()[ask - 1];
	return names.filter((_, place) => keys[place] <= last);
};

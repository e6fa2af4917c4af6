import { systemRandom, toHex } from "./bytes.js";
import { epsilonText, microOfText, TOTAL } from "./epsilon.js";
import { fail } from "./errors.js";
import { explainLevel } from "./explain.js";
import { namesOf } from "./reading.js";
import { memoryStore, openState } from "./state.js";

const ID_BYTES = 16;

const check = (good, rule) => good || fail("AnswerError", rule);
const sum = (spends) => spends.reduce((total, spend) => total + spend.micro_epsilon, 0);
const mapOf = (given) => (given instanceof Map ? given : new Map(Object.entries(given)));

const refuseAbove = (cap, spent, cost, name) => {
	if (spent + cost <= cap) return;
	const [price, left, all] = [cost, Math.max(cap - spent, 0), cap].map(epsilonText);
	fail("BudgetError", `this answer costs epsilon ${price} and ${name} leaves ${left} of ${all}`);
};

export const openDevice = async (survey, { store = memoryStore(), cap = null, random = systemRandom } = {}) => {
	const most = cap === null ? null : microOfText(String(cap), TOTAL) ?? fail("EpsilonError", "cap must be above 0, at most 1000");
	const state = await openState(store, most, random);
	const asked = await pick(survey, state.key);
	const { hash, total, hiding, collector } = survey;
	const ofSurvey = ({ ledger }) => ledger.filter((spend) => spend.survey === hash);

	const prepare = async (name, value, levels) => {
		const question = survey.question(name);
		check(asked.includes(name), `question must be one that this person is asked (${asked.join(", ")}), not '${name}'`);
		const named = typeof levels === "object" && levels && mapOf(levels);
		check(!named || named.has(name), `levels must name a level for every question answered; '${name}' has none`);
		const index = question.encode(value);
		const level = question.levelOf(named ? named.get(name) : levels);
		// What is asked, not the survey's hash: a new title must not renew the memo.
		const key = await state.key("output", collector, await level.identity(), index);
		// One label per level for all questions: several would tell more about it.
		const label = hiding && (await state.key("label", collector, await hiding.identity(level)));
		return { question, index, level, key, label };
	};

	const answerAll = (values, levels) =>
		state.change(async (known) => {
			const answers = [];
			for (const [name, value] of mapOf(values ?? {})) answers.push(await prepare(name, value, levels));
			check(answers.length, "values must answer at least one question, not none");
			const memo = new Map(Object.entries(known.memo));
			const fresh = answers.filter(({ key }) => !memo.has(key));
			const spends = fresh.map(({ question, level }) =>
				({ survey: hash, question: question.name, level: level.name, micro_epsilon: level.charge }));
			// Refuse before anything is drawn, so that a refusal cannot depend on the outcome.
			if (spends.length) {
				refuseAbove(known.cap ?? Infinity, sum(known.ledger), sum(spends), "the lifetime cap");
				refuseAbove(total, sum(ofSurvey(known)), sum(spends), "this survey's total_epsilon");
			}
			const before = memo.size;
			for (const { index, level, key } of fresh) memo.set(key, level.channel.draw(index, random));
			for (const { question: { levels }, level, label } of answers) {
				if (label && !memo.has(label)) memo.set(label, hiding.channel.draw(levels.indexOf(level), random));
			}
			const shown = answers.map(({ question, level, key, label }) => ({
				question: question.name,
				level: label ? question.levels[memo.get(label)].name : level.name,
				output: memo.get(key),
			}));
			const report = { pldp: 1, survey: hash, id: toHex(random(ID_BYTES)), answers: shown };
			const next = { ...known, ledger: [...known.ledger, ...spends], memo: Object.fromEntries(memo) };
			return [report, memo.size > before && next];
		});

	return {
		asked,
		answerAll,
		answer: async (name, value, level) =>
			answerAll(new Map([[survey.question(name).name, value]]), new Map([[name, level]])),
		explain: (level, name = null) =>
			(name === null ? survey.questions : [survey.question(name)])
				.map((question) => explainLevel(hiding, question, question.levelOf(level)))
				.join("\n"),
		ledger: () => {
			const { ledger: spends, cap: tightest } = state.known();
			return { spends, total: sum(spends), cap: tightest };
		},
		remaining: () =>
			total === Infinity ? "unlimited" : epsilonText(Math.max(total - sum(ofSurvey(state.known())), 0)),
	};
};

const pick = async ({ questions, ask, collector }, key) => {
	const names = namesOf(questions);
	if (!ask) return names;
	const keys = await Promise.all(names.map((name) => key("ask", collector, name)));
	const last = keys.toSorted()[ask - 1];
	return names.filter((_, place) => keys[place] <= last);
};

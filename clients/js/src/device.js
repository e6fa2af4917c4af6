/** See pldp.device: perturb an answer before it leaves, keep what was sent, and account for it. */
import { sha256, systemRandom } from "./bytes.js";
import { epsilonText, microOfText, TOTAL } from "./epsilon.js";
import { fail } from "./errors.js";
import { explainLevel } from "./explain.js";
import { checkSpends, explainCap, spentOn, sum } from "./ledger.js";
import { namesOf } from "./reading.js";
import { chargeOf, ONCE } from "./repeat.js";
import { memoryStore, openState } from "./state.js";

const ID_DIGITS = 32;

const check = (good, rule) => good || fail("AnswerError", rule);
const mapOf = (given) => (given instanceof Map ? given : new Map(Object.entries(given)));
const microOf = (cap) => microOfText(String(cap), TOTAL) ?? fail("EpsilonError", "cap must be above 0, at most 1000");
const answerTo = ({ answers }, { identity }) => answers.find((answer) => answer.identity === identity);

export const openDevice = async (survey, { store = memoryStore(), cap = null, round = 1, random = systemRandom } = {}) => {
	check(Number.isSafeInteger(round) && round >= 1, `round must be a whole number from 1 on, not '${String(round).slice(0, 40)}'`);
	const state = await openState(store, cap === null ? null : microOf(cap), random);
	const { hash, total, hiding, author, account, repeat } = survey;
	const asked = await pick(survey, round, state.key);

	const read = (name, value, levels) => {
		const question = survey.question(name);
		check(asked.includes(name), `question must be one that this person is asked (${asked.join(", ")}), not '${name}'`);
		const named = typeof levels === "object" && levels && mapOf(levels);
		check(!named || named.has(name), `levels must name a level for every question answered; '${name}' has none`);
		return { question, value: question.encode(value), level: question.levelOf(named ? named.get(name) : levels) };
	};

	const isNow = (sent) => sent.survey === hash && sent.round === round;
	/** Whether a report still answers for this person: in its round, or for good. */
	const holds = (sent) => sent.author === author && !sent.withdrawn && (repeat === ONCE || isNow(sent));
	/** The number of the report that has answered a question for good, or for this round; -1 if none has. */
	const findSent = ({ sent }, question) => sent.findIndex((each) => answerTo(each, question) && holds(each));

	const receiptOf = ({ sent }, number) => state.key("receipt", sent[number].survey, sent[number].round, number);
	const idOf = async (from, receipt) => (await sha256(`pldp receipt\0${from}\0${receipt}`)).slice(0, ID_DIGITS);
	const reportOf = async (known, number) => {
		const sent = known.sent[number];
		const answers = sent.answers.map(({ question, level, output }) => ({ question, level, output }));
		return { pldp: 1, survey: sent.survey, id: await idOf(sent.survey, await receiptOf(known, number)), answers };
	};

	const checkRound = ({ sent }) => {
		const latest = Math.max(1, ...sent.filter((each) => each.survey === hash).map((each) => each.round));
		if (round < latest) fail("DeviceStateError", `round must not go back to ${round}: this device has answered in ${latest}`);
	};

	/** The number of the report of this round that answers all these questions; -1 if none answers any. */
	const findReport = (known, questions) => {
		const numbers = questions.map((question) => findSent(known, question));
		const [first] = numbers;
		if (numbers.every((number) => number === first) && (first < 0 || isNow(known.sent[first]))) return first;
		const names = namesOf(questions.filter((_, place) => numbers[place] >= 0)).join(", ");
		const rule = "question must be one that this device has not answered yet";
		return fail("AnswerError", `${rule}, not ${names}: withdraw that answer to give another`);
	};

	/** Refuse names that meant something else, and a second report where levels are hidden. */
	const checkNames = ({ sent }, questions) => {
		const rule = "all answers must go into one report where levels are hidden, and it was sent";
		check(!hiding || !sent.some(holds), rule);
		const scales = new Map(questions.map(({ name, scale }) => [name, scale]));
		for (const { question, scale } of sent.filter((each) => each.author === author).flatMap(({ answers }) => answers)) {
			check((scales.get(question) ?? scale) === scale,
				`question '${question}' had other answers to choose from when this device answered it: ` +
				"what asks something else needs another name");
		}
	};

	const spendOf = ({ sent }, { question, level }) => {
		const paid = hiding ? question.levels.at(-1) : level;
		const answers = sent.filter((each) => each.author === author).map((each) => answerTo(each, question));
		const earlier = answers.filter((answer) => answer?.level === paid.name).length;
		const cost = chargeOf(paid, earlier);
		return { survey: hash, question: question.name, level: hiding ? "" : paid.name, micro_epsilon: cost, round, account };
	};

	const draw = async ({ question, value, level: { name, channel, stages } }) => {
		if (!stages) return channel.draw(value, random);
		const parts = ["permanent", author, question.identity, name];
		const settled = await stages.settle(value, (which, count) => state.keptBytes(count, ...parts, which));
		return stages.renew(settled, random);
	};

	/** What the device knows after it has drawn, charged and kept a new report. */
	const send = async (known, answers) => {
		checkNames(known, answers.map(({ question }) => question));
		const spends = answers.map((answer) => spendOf(known, answer));
		// Refuse before anything is drawn, so that a refusal cannot depend on the outcome.
		checkSpends(known, survey, spends);
		const outputs = [];
		for (const answer of answers) outputs.push(await draw(answer));
		// One label per level for all questions: several would tell more about it.
		const places = answers.map(({ question, level }) => question.levels.indexOf(level));
		const shown = new Map(places.map((place) => [place, place]));
		if (hiding) for (const place of shown.keys()) shown.set(place, hiding.channel.draw(place, random));
		const said = answers.map(({ question: { name, identity, scale, levels } }, place) =>
			({ question: name, identity, scale, level: levels[shown.get(places[place])].name, output: outputs[place] }));
		const sent = { survey: hash, author, round, answers: said, withdrawn: false };
		return { ...known, ledger: [...known.ledger, ...spends], sent: [...known.sent, sent] };
	};

	const answerAll = (values, levels) =>
		state.change(async (known) => {
			const answers = Array.from(mapOf(values ?? {}), ([name, value]) => read(name, value, levels));
			check(answers.length, "values must answer at least one question, not none");
			checkRound(known);
			const number = findReport(known, answers.map(({ question }) => question));
			if (number >= 0) return [await reportOf(known, number)];
			const next = await send(known, answers);
			return [await reportOf(next, next.sent.length - 1), next];
		});

	return {
		asked,
		round,
		answerAll,
		answer: async (name, value, level) =>
			answerAll(new Map([[survey.question(name).name, value]]), new Map([[name, level]])),
		answered: () =>
			state.change((known) => [namesOf(survey.questions.filter((question) => findSent(known, question) >= 0))]),
		sent: (name) =>
			state.change(async (known) => {
				const number = findSent(known, survey.question(name));
				return [number < 0 ? null : { report: await reportOf(known, number), round: known.sent[number].round }];
			}),
		receipt: (report) =>
			state.change(async (known) => {
				for (const [number, { survey: from }] of known.sent.entries()) {
					if (from !== report.survey) continue;
					const receipt = await receiptOf(known, number);
					if ((await idOf(from, receipt)) === report.id) return [receipt];
				}
				return fail("AnswerError", "report must be one that this device has made; it is not");
			}),
		withdraw: (name) =>
			state.change(async (known) => {
				const number = findSent(known, survey.question(name));
				check(number >= 0, `question must be one that this device has answered, not '${name}'`);
				const answers = known.sent[number].answers.map((answer) => ({ ...answer, output: null }));
				const sent = known.sent.with(number, { ...known.sent[number], answers, withdrawn: true });
				return [await receiptOf(known, number), { ...known, sent }];
			}),
		changeCap: async (most) => {
			const micro = microOf(most);
			return state.change((known) => [undefined, { ...known, cap: micro }]);
		},
		price: (name, level) =>
			state.change((known) => {
				const question = survey.question(name);
				return [spendOf(known, { question, level: question.levelOf(level) }).micro_epsilon];
			}),
		explain: (level, name = null) =>
			(name === null ? survey.questions : [survey.question(name)])
				.map((question) => explainLevel(survey, question, question.levelOf(level)))
				.concat(explainCap(state.known(), survey))
				.join("\n"),
		ledger: () => {
			const { ledger: spends, cap: most } = state.known();
			return { spends, total: sum(spends), cap: most };
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

/** The reports that a device has made: which of them still answer for the person, and what they rule out. */
import { sha256 } from "./bytes.js";
import { fail } from "./errors.js";
import { namesOf } from "./reading.js";
import { ONCE } from "./repeat.js";

const ID_DIGITS = 32;

export const check = (good, rule) => good || fail("AnswerError", rule);

const answerTo = ({ answers }, { identity }) => answers.find((answer) => answer.identity === identity);

/** For one survey and round; `key` makes texts that only this device can make. */
export const openSent = ({ hash, author, hiding }, round, key) => {
	const isNow = (report) => report.survey === hash && report.round === round;
	/** Whether a report still answers for this person: in its round, or for good. */
	const holds = (report) => report.author === author && !report.withdrawn && (report.repeat === ONCE || isNow(report));
	const ofAuthor = ({ sent }) => sent.filter((report) => report.author === author);

	/** The number of the report that has answered a question for good, or for this round; -1 if none has. */
	const find = ({ sent }, question) => sent.findIndex((report) => answerTo(report, question) && holds(report));

	/** The number of the report of this round that answers all these questions; -1 if none answers any. */
	const findAll = (known, questions) => {
		const numbers = questions.map((question) => find(known, question));
		const [first] = numbers;
		if (numbers.every((number) => number === first) && (first < 0 || isNow(known.sent[first]))) return first;
		const names = namesOf(questions.filter((_, place) => numbers[place] >= 0)).join(", ");
		const rule = "question must be one that this device has not answered yet";
		return fail("AnswerError", `${rule}, not ${names}: withdraw that answer to give another`);
	};

	const earlierAt = (known, question, level) =>
		ofAuthor(known).filter((report) => answerTo(report, question)?.level === level.name).length;

	const checkRound = ({ sent }) => {
		const latest = Math.max(1, ...sent.filter((report) => report.survey === hash).map((report) => report.round));
		if (round < latest) fail("DeviceStateError", `round must not go back to ${round}: this device has answered in ${latest}`);
	};

	/** Refuse names that meant something else, and a second report where levels are hidden. */
	const checkNames = (known, questions) => {
		const rule = "all answers must go into one report where levels are hidden, and it was sent";
		check(!hiding?.channel || !known.sent.some((report) => report.survey === hash && holds(report)), rule);
		const scales = new Map(questions.map(({ name, scale }) => [name, scale]));
		for (const { question, scale } of ofAuthor(known).flatMap(({ answers }) => answers)) {
			check((scales.get(question) ?? scale) === scale,
				`question '${question}' had other answers to choose from when this device answered it: ` +
				"what asks something else needs another name");
		}
	};

	const receiptOf = ({ sent }, number) => key("receipt", sent[number].survey, sent[number].round, number);
	const idOf = async (survey, receipt) => (await sha256(`pldp receipt\0${survey}\0${receipt}`)).slice(0, ID_DIGITS);

	const reportOf = async (known, number) => {
		const { survey, answers } = known.sent[number];
		const said = answers.map(({ question, level, output }) => ({ question, level, output }));
		return { pldp: 1, survey, id: await idOf(survey, await receiptOf(known, number)), answers: said };
	};

	const findReceipt = async (known, { survey, id }) => {
		for (const number of known.sent.keys()) {
			const receipt = known.sent[number].survey === survey && (await receiptOf(known, number));
			if (receipt && (await idOf(survey, receipt)) === id) return receipt;
		}
		return fail("AnswerError", "report must be one that this device has made; it is not");
	};

	return { find, findAll, earlierAt, checkRound, checkNames, receiptOf, reportOf, findReceipt };
};

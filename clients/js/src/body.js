/** See pldp.reports: all reports of a survey are sent with one length, that of the longest. */
import { utf8 } from "./bytes.js";
import { sumOfLargest } from "./reading.js";

const lengthOf = (text) => utf8(text).length;

const longestAnswer = ({ name: question, levels }) =>
	Math.max(...levels.map(({ name: level, channel: { form: { bytes, integers } } }) => {
		const output = integers ? integers - 1 : "00".repeat(bytes);
		return lengthOf(JSON.stringify({ question, level, output }));
	}));

export const bodyLength = ({ hash, questions, ask = questions.length }) => {
	const frame = JSON.stringify({ pldp: 1, survey: hash, id: "0".repeat(32), answers: [] });
	return lengthOf(frame) + sumOfLargest(questions.map(longestAnswer), ask) + ask - 1; // commas between answers
};

/** The report as JSON with spaces behind it. */
export const bodyOf = (report, length) => {
	const text = JSON.stringify(report);
	return text + " ".repeat(Math.max(0, length - lengthOf(text)));
};

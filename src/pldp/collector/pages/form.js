/** A question as fields, and its answer in words. */
import { make } from "./dom.js";
import { KINDS } from "./kinds/registry.js";

export const questionFields = (question, place) => {
	const [fields, read] = KINDS[question.kind].fields(`question-${place}`, question);
	const fieldset = make("fieldset", {}, make("legend", {}, question.text || question.name), ...fields);
	return { fieldset, read };
};

/** What the answer in a report says. */
export const answerInWords = (question, { level, output }) => {
	const says = KINDS[question.kind].says(question, question.levelOf(level).channel, output);
	return `${question.text || `${question.name}:`} The report ${says}, at level “${level}”.`;
};

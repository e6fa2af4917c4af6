/** A question as fields, and its answer in words. */
import { make } from "./dom.js";
import { KINDS } from "./kinds/registry.js";
import { levelName, questionText, t } from "./words.js";

export const questionFields = (question, place, options) => {
	const [fields, read] = KINDS[question.kind].fields(`question-${place}`, question, options);
	const mark = question.required ? [" ", make("span", { className: "muted small" }, `(${t("answer.required")})`)] : [];
	const fieldset = make("fieldset", {}, make("legend", {}, questionText(question), ...mark), ...fields);
	return { fieldset, read };
};

/** What the answer in a report says. */
export const answerInWords = (question, { level, output }) => {
	const says = KINDS[question.kind].says(question, question.levelOf(level).channel, output);
	const text = questionText(question);
	return t("report.line", { question: text === question.name ? t("report.named", { name: text }) : text, says, level: levelName(level) });
};

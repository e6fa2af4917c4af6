/** What kinds with labels have in common. Skipping is the first choice, so that nobody answers by accident. */
import { make } from "../dom.js";
import { labelOf, t } from "../words.js";

const MOST_LABELS = 8;

export const option = (type, name, id, label, properties) =>
	make("div", { className: "option" },
		make("input", { type, name, id, ...properties }), make("label", { htmlFor: id }, label));

/** One for each label in the order in which they are shown; each is known by its place in the survey. */
export const buttons = (type, id, question, options, properties) =>
	options.map((label) => {
		const value = question.places.get(label);
		return option(type, id, `${id}-${value}`, labelOf(question, label), { value, ...properties });
	});

/** The choice not to answer; a question that is required has none. */
export const skipping = (id, { required }) =>
	required ? [] : [option("radio", id, `${id}-skip`, t("answer.skip"), { value: "", checked: true })];

const listed = (question, labels) => {
	const more = labels.length - MOST_LABELS;
	const shown = labels.slice(0, MOST_LABELS).map((label) => t("report.quoted", { label: labelOf(question, label) })).join(", ");
	return more > 0 ? t("report.more", { labels: shown, count: more }) : shown || t("report.nothing");
};

/** The labels that the report speaks for; where it is about some labels only, those first. */
export const says = (question, { verb, supports, about }, output) => {
	const { values } = question;
	const words = t(`report.${verb}`, { labels: listed(question, values.filter((_, place) => supports(output, place))) });
	return about ? t("report.about boxes", { boxes: listed(question, about(output).map((place) => values[place])), says: words }) : words;
};

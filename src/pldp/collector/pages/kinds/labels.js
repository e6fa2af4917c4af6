/** What kinds with labels have in common. Skipping is the first choice, so that nobody answers by accident. */
import { make } from "../dom.js";

const MOST_LABELS = 8;
export const SKIP = "I skip this question";

export const option = (type, name, id, label, properties) =>
	make("div", { className: "option" },
		make("input", { type, name, id, ...properties }), make("label", { htmlFor: id }, label));

export const buttons = (type, id, labels) =>
	labels.map((label, place) => option(type, id, `${id}-${place}`, label, { value: place }));

export const skipping = (id) => option("radio", id, `${id}-skip`, SKIP, { value: "", checked: true });

const listed = (labels) => {
	const more = labels.length - MOST_LABELS;
	const shown = labels.slice(0, MOST_LABELS).map((label) => `“${label}”`).join(", ") || "nothing";
	return `${shown}${more > 0 ? ` and ${more} more` : ""}`;
};

/** The labels that the report speaks for; where it is about some labels only, those first. */
export const says = ({ values }, { verb, supports, about }, output) => {
	const words = `${verb} ${listed(values.filter((_, place) => supports(output, place)))}`;
	return about ? `is about ${listed(about(output).map((place) => values[place]))} and ${words}` : words;
};

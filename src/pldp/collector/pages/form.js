/** A question as fields, and the answer in them. Skipping is the first choice, so that nobody answers by accident. */
import { make } from "./dom.js";

const MOST_BUTTONS = 12;
const SKIP = "I skip this question";

const option = (type, name, id, label, properties) =>
	make("div", { className: "option" },
		make("input", { type, name, id, ...properties }), make("label", { htmlFor: id }, label));

const buttons = (type, id, labels) =>
	labels.map((label, place) => option(type, id, `${id}-${place}`, label, { value: place }));

const skipping = (id) => option("radio", id, `${id}-skip`, SKIP, { value: "", checked: true });

/** Each kind gives its fields and reads their answer: undefined if there is none. */
const KINDS = {
	choice: (id, { values }) => {
		if (values.length <= MOST_BUTTONS) {
			const fields = [skipping(id), ...buttons("radio", id, values)];
			return [fields, () => values[fields.map((field) => field.firstChild).find(({ checked }) => checked).value || NaN]];
		}
		const list = make("select", { id, name: id }, ...[SKIP, ...values].map((label, place) => new Option(label, place)));
		list.ariaLabel = "Answer";
		return [[list], () => values[list.value - 1]];
	},
	choices: (id, { values }) => {
		const answering = option("radio", id, `${id}-answer`, "I answer: what I tick applies, the rest does not", { value: "1" });
		const boxes = buttons("checkbox", `${id}-box`, values);
		const group = make("div", { className: "boxes" }, ...boxes);
		group.addEventListener("change", () => (answering.firstChild.checked = true));
		const read = () => answering.firstChild.checked ? values.filter((_, place) => boxes[place].firstChild.checked) : undefined;
		return [[skipping(id), answering, group], read];
	},
	number: (id, { low, high, unit, outside }) => {
		const field = make("input", { type: "number", id, step: "any", inputMode: "decimal" });
		if (outside !== "clip") Object.assign(field, { min: low, max: high });
		const label = `A number from ${low} to ${high}${unit ? ` (${unit})` : ""}; leave it empty to skip this question`;
		return [[make("label", { htmlFor: id }, label), field], () => (field.value ? Number(field.value) : undefined)];
	},
};

/** The question as the survey file spells it out. */
export const questionFields = (question, place) => {
	const id = `question-${place}`;
	const [fields, read] = KINDS[question.kind](id, question);
	const fieldset = make("fieldset", {}, make("legend", {}, question.text || question.name), ...fields);
	return { fieldset, read };
};

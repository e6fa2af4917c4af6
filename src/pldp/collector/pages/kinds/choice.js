import { make } from "../dom.js";
import { labelOf, t } from "../words.js";
import { buttons, skipping } from "./labels.js";

export { says } from "./labels.js";

const MOST_BUTTONS = 12;

export const fields = (id, question, options) => {
	const { values, required } = question;
	if (values.length <= MOST_BUTTONS) {
		const choices = [...skipping(id, question), ...buttons("radio", id, question, options, { required })];
		return [choices, () => values[choices.map((field) => field.firstChild).find(({ checked }) => checked)?.value || NaN]];
	}
	const entries = options.map((label) => new Option(labelOf(question, label), question.places.get(label)));
	const list = make("select", { id, name: id, required, autocomplete: "off" }, new Option(required ? "" : t("answer.skip"), ""), ...entries);
	list.ariaLabel = t("answer.choose");
	return [[list], () => values[list.value || NaN]];
};

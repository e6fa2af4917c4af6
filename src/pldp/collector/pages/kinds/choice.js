import { make } from "../dom.js";
import { buttons, SKIP, skipping } from "./labels.js";

export { says } from "./labels.js";

const MOST_BUTTONS = 12;

export const protects = () => "an answer";

export const fields = (id, { values }) => {
	if (values.length <= MOST_BUTTONS) {
		const options = [skipping(id), ...buttons("radio", id, values)];
		return [options, () => values[options.map((field) => field.firstChild).find(({ checked }) => checked).value || NaN]];
	}
	const list = make("select", { id, name: id }, ...[SKIP, ...values].map((label, place) => new Option(label, place)));
	list.ariaLabel = "Answer";
	return [[list], () => values[list.value - 1]];
};

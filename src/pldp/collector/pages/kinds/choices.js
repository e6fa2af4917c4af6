import { make } from "../dom.js";
import { buttons, option, skipping } from "./labels.js";

export { says } from "./labels.js";

export const protects = "a box to tick";

export const fields = (id, { values }) => {
	const answering = option("radio", id, `${id}-answer`, "I answer: what I tick applies, the rest does not", { value: "1" });
	const boxes = buttons("checkbox", `${id}-box`, values);
	const group = make("div", { className: "boxes" }, ...boxes);
	group.addEventListener("change", () => (answering.firstChild.checked = true));
	const read = () => answering.firstChild.checked ? values.filter((_, place) => boxes[place].firstChild.checked) : undefined;
	return [[skipping(id), answering, group], read];
};

import { make } from "../dom.js";
import { buttons, option, skipping } from "./labels.js";

export { says } from "./labels.js";

export const protects = ({ whole }) => (whole ? "an answer" : "a box to tick");

export const fields = (id, { values, atMost }) => {
	const answering = option("radio", id, `${id}-answer`, "I answer: what I tick applies, the rest does not", { value: "1" });
	const boxes = buttons("checkbox", `${id}-box`, values);
	const group = make("div", {}, ...boxes);
	const limit = atMost < values.length && make("p", { className: "muted small" }, `Tick at most ${atMost}.`);
	/** Boxes beyond the limit cannot be ticked until another one is not. */
	const close = () => {
		const full = boxes.filter(({ firstChild: box }) => box.checked).length >= atMost;
		for (const { firstChild: box } of boxes) box.disabled = full && !box.checked;
	};
	group.addEventListener("change", () => {
		answering.firstChild.checked = true;
		close();
	});
	group.addEventListener("restored", close);
	const read = () => answering.firstChild.checked ? values.filter((_, place) => boxes[place].firstChild.checked) : undefined;
	return [[skipping(id), answering, ...(limit ? [limit] : []), group], read];
};

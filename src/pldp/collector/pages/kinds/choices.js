import { make } from "../dom.js";
import { labelOf, t } from "../words.js";
import { buttons, option, skipping } from "./labels.js";

export { says } from "./labels.js";

/** What may be ticked together, in words. */
const rules = (question, { values, atMost, exclusive } = question) => [
	...(atMost < values.length ? [make("p", { className: "muted small" }, t("answer.at most", { count: atMost }))] : []),
	...(exclusive.length ? [make("p", { className: "muted small" },
		t("answer.exclusive", { labels: exclusive.map((label) => t("report.quoted", { label: labelOf(question, label) })).join(", ") }))] : []),
];

export const fields = (id, question, options) => {
	const { values, atMost, exclusive, required } = question;
	const answering = option("radio", id, `${id}-answer`, t("answer.several"), { value: "1", required });
	const boxes = buttons("checkbox", `${id}-box`, question, options).map(({ firstChild: box }) => box);
	const group = make("div", {}, ...boxes.map((box) => box.parentElement));
	const isAlone = (box) => exclusive.includes(values[box.value]);
	const count = make("p", { className: "muted small" });
	count.setAttribute("aria-live", "polite");
	/** Boxes beyond the limit cannot be ticked until another one is not. */
	const close = () => {
		const ticked = boxes.filter(({ checked }) => checked);
		const full = ticked.length >= atMost && !ticked.some(isAlone);
		for (const box of boxes) box.disabled = full && !box.checked && !isAlone(box);
		count.textContent = atMost < values.length && ticked.length ? t("answer.ticked", { ticked: ticked.length, count: atMost }) : "";
	};
	group.addEventListener("change", ({ target }) => {
		answering.firstChild.checked = true;
		// An exclusive box clears the others, and the others clear it.
		for (const box of boxes) if (target.checked && box !== target && (isAlone(target) || isAlone(box))) box.checked = false;
		close();
	});
	group.addEventListener("restored", close);
	const read = () => answering.firstChild.checked
		? boxes.filter(({ checked }) => checked).map(({ value }) => Number(value)).sort((a, b) => a - b).map((place) => values[place])
		: undefined;
	return [[...skipping(id, question), answering, ...rules(question), group, count], read];
};

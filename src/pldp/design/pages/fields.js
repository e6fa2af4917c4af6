/** Fields of a form, made from what the server says of each key; a key that no form shows is left alone. */
import { make } from "./dom.js";

let made = 0;
const unique = () => `field-${(made += 1)}`;

const NUMBER = /^-?\d+(\.\d+)?$/;

/** A number where it is one; other text stays, so that the server says what is wrong with it. */
const numberOf = (text) => (NUMBER.test(text.trim()) ? Number(text) : text.trim());
const linesOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

const FORMS = {
	line: { show: String, read: (text) => text.trim() },
	passage: { show: String, read: (text) => text.trim(), long: 3 },
	integer: { show: String, read: numberOf, mode: "numeric" },
	decimal: { show: String, read: numberOf, mode: "decimal" },
	one_of: { show: String, read: (text) => text },
	lines: { show: (list) => list.join("\n"), read: linesOf, long: 4 },
};

const isShown = (form, value) => value === undefined || (form === "lines" ? Array.isArray(value) : typeof value !== "object");

const control = (field, id, form) => {
	if (field.form === "one_of")
		return make("select", { id }, new Option("", ""), ...field.options.map((each) => new Option(each, each)));
	if (form.long) return make("textarea", { id, rows: form.long });
	return make("input", { id, type: "text", inputMode: form.mode ?? "text" });
};

const troubleAt = (where, id) => {
	const line = make("p", { className: "trouble", id: `${id}-trouble`, hidden: true });
	line.dataset.where = where.join("/");
	return line;
};

/** Set or forget a key; an empty field is no key. */
const put = (table, key, value) => {
	if (value === "" || (Array.isArray(value) && !value.length)) delete table[key];
	else table[key] = value;
};

const switchOf = (field, table, where, changed) => {
	const id = unique();
	const box = make("input", { type: "checkbox", id, checked: table[field.key] === true });
	box.addEventListener("change", () => {
		if (box.checked) table[field.key] = true;
		else delete table[field.key];
		changed();
	});
	return make("div", { className: "field" },
		make("div", { className: "switch" }, box, make("label", { htmlFor: id }, field.label)),
		...(field.help ? [make("p", { className: "help muted small" }, field.help)] : []), troubleAt(where, id));
};

const groupOf = (field, table, where, changed) => {
	const inside = table[field.key] ?? {};
	const update = () => {
		if (Object.keys(inside).length) table[field.key] = inside;
		else delete table[field.key];
		changed();
	};
	const legend = make("legend", {}, field.label);
	const offered = Object.keys(inside).length ? undefined : field.fields.find(({ usual }) => usual);
	const take = make("button", { type: "button" }, `Use the usual choice: ${offered?.label} = ${offered?.usual}`);
	const group = make("fieldset", { className: "group" }, legend,
		...(field.help ? [make("p", { className: "help muted small" }, field.help)] : []), ...(offered ? [take] : []),
		...field.fields.map((each) => fieldOf(each, inside, [...where, each.key], update)), troubleAt(where, unique()));
	take.addEventListener("click", () => {
		const first = group.querySelector("input");
		first.value = offered.usual;
		first.dispatchEvent(new Event("input"));
		first.focus();
	});
	return group;
};

/** One field: label, help, control and the line that says what is wrong. */
export const fieldOf = (field, table, where, changed) => {
	if (field.form === "group") return groupOf(field, table, where, changed);
	if (field.form === "switch") return switchOf(field, table, where, changed);
	const [id, form] = [unique(), FORMS[field.form]];
	if (!isShown(field.form, table[field.key])) return make("p", { className: "muted small" }, `${field.label}: kept as it is in the file.`);
	const input = control(field, id, form);
	if (table[field.key] !== undefined) input.value = form.show(table[field.key]);
	input.addEventListener("input", () => {
		put(table, field.key, form.read(input.value));
		changed();
	});
	const help = make("p", { className: "help muted small", id: `${id}-help` }, field.help);
	input.setAttribute("aria-describedby", `${id}-trouble${field.help ? ` ${id}-help` : ""}`);
	return make("div", { className: "field" },
		make("label", { htmlFor: id }, field.label), ...(field.help ? [help] : []), input, troubleAt(where, id));
};

/** A field beside others of its table, for keys that a form names itself. */
export const plainField = (key, form, label, help = "") => ({ key, form, label, help, options: [], fields: [] });

/** Show each line at its field; give those that have none. */
export const showTroubles = (root, troubles) => {
	const places = new Map([...root.querySelectorAll(".trouble")].map((line) => [line.dataset.where, line]));
	for (const line of places.values()) Object.assign(line, { hidden: true, textContent: "" });
	for (const input of root.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
	const left = [];
	for (const { where, text } of troubles) {
		const keys = [...where];
		while (keys.length && !places.has(keys.join("/"))) keys.pop();
		const line = places.get(keys.join("/"));
		if (!keys.length || !line) {
			left.push(text);
			continue;
		}
		const words = `${text[0].toUpperCase()}${text.slice(1)}.`;
		line.textContent = line.hidden ? words : `${line.textContent} ${words}`;
		line.hidden = false;
		root.querySelector(`[id="${line.id.replace("-trouble", "")}"]`)?.setAttribute("aria-invalid", "true");
	}
	return left;
};

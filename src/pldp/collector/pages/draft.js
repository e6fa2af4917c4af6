/**
 * What is in the fields of a form, for fields that are built anew (in another language, or when a limit changed).
 * It is only ever in memory, as a page is that the browser keeps for going back: browsers write storage, and fields
 * that they may complete, to disk in plain text.
 */
const controls = (form) => [...form.elements].filter(({ id }) => id);
const isTicked = ({ type }) => type === "radio" || type === "checkbox";

export const valuesOf = (form) => new Map(controls(form).map((field) => [field.id, isTicked(field) ? field.checked : field.value]));

export const fill = (form, values) => {
	for (const field of controls(form).filter(({ id }) => values.has(id)))
		field[isTicked(field) ? "checked" : "value"] = values.get(field.id);
	for (const field of controls(form)) field.dispatchEvent(new Event("restored", { bubbles: true }));
};

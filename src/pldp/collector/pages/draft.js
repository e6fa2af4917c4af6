/** Answers that are not drawn yet, kept in this tab alone so that going back or reloading loses nothing. */

const controls = (form) => [...form.elements].filter(({ id }) => id);
const isTicked = ({ type }) => type === "radio" || type === "checkbox";

export const openDraft = (hash) => {
	const key = `pldp draft ${hash}`;
	return {
		/** Keep the level, the questions that are asked, and what is in the fields. */
		keep: (level, names, form) => {
			const entries = controls(form).map((field) => [field.id, isTicked(field) ? field.checked : field.value]);
			sessionStorage.setItem(key, JSON.stringify({ level, names, fields: Object.fromEntries(entries) }));
		},
		/** What was kept for these questions; nothing where others are asked now. */
		kept: (namesAt) => {
			const { level, names, fields } = JSON.parse(sessionStorage.getItem(key) ?? "{}");
			const same = level !== undefined && JSON.stringify(namesAt(level)) === JSON.stringify(names);
			return same ? { level, fields } : null;
		},
		/** Put what was kept into the fields. */
		fill: (form, fields) => {
			for (const field of controls(form).filter(({ id }) => id in fields))
				field[isTicked(field) ? "checked" : "value"] = fields[field.id];
			for (const field of controls(form)) field.dispatchEvent(new Event("restored", { bubbles: true }));
		},
		forget: () => sessionStorage.removeItem(key),
	};
};

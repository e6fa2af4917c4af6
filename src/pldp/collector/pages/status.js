/** What the page says: what happened, and what went wrong, each in one line. */
import { PldpError } from "./device/index.js";
import { byId } from "./dom.js";
import { t } from "./words.js";

export const show = (id, visible = true) => (byId(id).hidden = !visible);

export const capital = (line) => line[0].toUpperCase() + line.slice(1);

export const say = (line) => (byId("status").textContent = line);

/** Say it, and let those who cannot see the page find it. */
export const announce = (line) => {
	say(line);
	byId("status").focus();
};

/** Ask in the dialog with this id; closing it without a button is a no. */
export const confirmed = (id) =>
	new Promise((decide) => {
		const dialog = byId(id);
		dialog.returnValue = "no";
		dialog.addEventListener("close", () => decide(dialog.returnValue === "yes"), { once: true });
		dialog.showModal();
	});

/** Errors of the device have names; what the page refuses itself is in its own words already. */
const lineOf = (error) => {
	if (!(error instanceof PldpError)) return t("error.mistake", { name: error?.name });
	return error.name === "Error" ? error.message : t(`error.${error.name}`, { detail: error.message });
};

export const failed = (error) => {
	byId("error").textContent = `${capital(lineOf(error))}.`;
	show("error");
	byId("error").focus();
};

/** Do what a person asks for; whatever goes wrong becomes one line. */
export const on = (target, kind, work) =>
	target.addEventListener(kind, (event) => {
		event.preventDefault();
		show("error", false);
		say("");
		Promise.resolve(event).then(work).catch(failed);
	});

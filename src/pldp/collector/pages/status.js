/** What the page says: what happened, and what went wrong, each in one line. */
import { PldpError } from "./device/index.js";
import { byId } from "./dom.js";

export const show = (id, visible = true) => (byId(id).hidden = !visible);

export const capital = (line) => line[0].toUpperCase() + line.slice(1);

export const say = (line) => (byId("status").textContent = line);

/** Say it, and let those who cannot see the page find it. */
export const announce = (line) => {
	say(line);
	byId("status").focus();
};

export const failed = (error) => {
	const known = error instanceof PldpError ? error.message : `this page made a mistake (${error?.name})`;
	const line = error?.name === "SurveyError" ? `this page cannot ask this survey (${known})` : known;
	byId("error").textContent = `${capital(line)}.`;
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

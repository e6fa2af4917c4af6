/** Choose a level, answer, look at the report: in this order, and no way back after the questions are seen. */
import { PldpError } from "./device/index.js";
import { epsilonText } from "./device/epsilon.js";
import { byId, make } from "./dom.js";
import { answerInWords, questionFields } from "./form.js";
import { showLedger } from "./ledger.js";
import { levelFor, showLevels } from "./levels.js";
import { announce, capital, on, show } from "./status.js";

const next = (from, to) => {
	show(from, false);
	show(to);
	byId(to).querySelector("h2").focus();
};

const odds = (device, question, level) => {
	const [, ...lines] = device.explain(level, question.name).replaceAll(";\n", "; ").split("\n");
	return make("details", {}, make("summary", {}, "What your report will tell"),
		...lines.map((line) => make("p", {}, capital(line))));
};

const showReport = (survey, report, cost) => {
	const lines = report.answers.map((answer) => answerInWords(survey.question(answer.question), answer));
	byId("words").replaceChildren(...lines.map((line) => make("li", {}, line)));
	byId("exact").textContent = JSON.stringify(report);
	byId("cost").textContent = `Drawing this report cost ε = ${epsilonText(cost)}. It counts also if you do not send it; ` +
		"otherwise one could draw again until a report looks right.";
};

/** Return what begins anew with the questions that can still be answered. */
export const openSteps = (survey, device, sending, changed) => {
	let [asked, fields, report] = [[], [], null];

	on(byId("choosing"), "submit", ({ target }) => {
		const chosen = new FormData(target).get("level");
		fields = asked.flatMap((question, place) => {
			const level = levelFor(survey, question, chosen);
			return level === null ? [] : [{ question, level, ...questionFields(question, place) }];
		});
		for (const { fieldset, question, level } of fields) fieldset.append(odds(device, question, level));
		byId("questions").replaceChildren(...fields.map(({ fieldset }) => fieldset));
		byId("chosen").textContent = `Level “${chosen}”. It stays until you open this page again.`;
		next("choosing", "answering");
	});

	on(byId("answering"), "submit", async ({ target }) => {
		const answered = fields.map((field) => ({ ...field, value: field.read() })).filter(({ value }) => value !== undefined);
		if (!answered.length) throw new PldpError("Please answer at least one question, or close the page");
		const before = device.ledger().total;
		report = await device.answerAll(
			new Map(answered.map(({ question, value }) => [question.name, value])),
			new Map(answered.map(({ question, level }) => [question.name, level])));
		target.reset();
		showReport(survey, report, device.ledger().total - before);
		showLedger(survey, device);
		next("answering", "preview");
	});

	on(byId("send"), "click", () => {
		show("preview", false);
		return sending.send(report);
	});

	on(byId("keep"), "click", async () => {
		show("preview", false);
		await changed();
		announce("Not sent. The report stays on this device.");
	});

	return (questions) => {
		asked = questions;
		showLevels(byId("levels"), survey, asked, device.ledger().cap);
		for (const step of ["answering", "preview"]) show(step, false);
		show("choosing", asked.length > 0);
	};
};

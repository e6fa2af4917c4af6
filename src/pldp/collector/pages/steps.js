/** Choose a level, answer, look at the report. The way back is open until the report is drawn. */
import { PldpError } from "./device/index.js";
import { epsilonText } from "./device/epsilon.js";
import { byId, make } from "./dom.js";
import { openDraft } from "./draft.js";
import { answerInWords, questionFields } from "./form.js";
import { roomOf, showLedger } from "./ledger.js";
import { openLevels, showLevels, toldBy } from "./levels.js";
import { percent, sureness } from "./odds.js";
import { announce, capital, on, show } from "./status.js";

const STEPS = ["choosing", "answering", "preview"];

const showStep = (step) => {
	for (const each of STEPS) show(each, each === step);
	if (step) byId(step).querySelector("h2").focus();
};

const odds = (device, question, level) => {
	const [, ...lines] = device.explain(level, question.name).replaceAll(";\n", "; ").split("\n");
	return make("details", {}, make("summary", {}, "What your report will tell"),
		...lines.map((line) => make("p", {}, capital(line))));
};

/** The fields of a question, and a line for when it costs more than the other answers leave. */
const fieldsOf = (device, { question, level, price }, place) => {
	const built = questionFields(question, place);
	const dear = make("p", { className: "muted small", hidden: true },
		`This question costs ε = ${epsilonText(price)}, more than your other answers leave. Skip another one to answer it.`);
	built.fieldset.append(dear, odds(device, question, level.name));
	return { question, level, price, dear, ...built };
};

/** Close questions that the answers so far leave no room for, and say what the report will tell. */
const settle = (fields, room) => {
	const answered = fields.filter(({ read }) => read() !== undefined);
	const cost = answered.reduce((total, { price }) => total + price, 0);
	for (const field of fields) {
		field.fieldset.disabled = !answered.includes(field) && cost + field.price > room;
		field.dear.hidden = !field.fieldset.disabled;
	}
	const told = toldBy(answered);
	const sure = told === Infinity ? "It can prove what is not protected." : `Someone who thought other answers ` +
		`just as likely could become at most ${percent(sureness(told))} sure of yours.`;
	byId("costing").textContent = answered.length
		? `Your report answers ${answered.length} of ${fields.length} questions and costs ε = ${epsilonText(cost)}. ${sure}`
		: "You have answered nothing yet.";
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
	const draft = openDraft(survey.hash);
	let [levels, chosen, fields, report, room] = [[], null, [], null, 0];
	const form = byId("answering");
	const settled = () => settle(fields, room);
	const answersAt = (name) => levels.find((level) => level.name === name)?.answers ?? [];
	const namesAt = (name) => answersAt(name).map(({ question }) => question.name);

	const ask = (name) => {
		if (name !== chosen) {
			chosen = name;
			fields = answersAt(name).map((answer, place) => fieldsOf(device, answer, place));
			byId("questions").replaceChildren(...fields.map(({ fieldset }) => fieldset));
			byId("chosen").textContent = `Level “${name}”.`;
		}
		settled();
		showStep("answering");
	};

	/** Nothing is asked until the page begins anew. */
	const finish = () => {
		[report, chosen, levels] = [null, null, []];
		showStep(null);
	};

	const startAgain = () => {
		draft.forget();
		form.reset();
		[chosen, fields] = [null, []];
		showStep(levels.length ? "choosing" : null);
	};

	on(byId("choosing"), "submit", ({ target }) => {
		ask(new FormData(target).get("level"));
		// The browser's own buttons lead back and forth, too.
		if (history.state?.step !== "answering") history.pushState({ step: "answering" }, "");
	});

	form.addEventListener("change", () => {
		settled();
		draft.keep(chosen, namesAt(chosen), form);
	});
	form.addEventListener("input", settled);

	on(byId("back"), "click", () => history.back());
	on(byId("forget"), "click", () => {
		startAgain();
		announce("Your answers are forgotten. Nothing was sent.");
	});

	addEventListener("popstate", async ({ state }) => {
		if (report) return leave();
		if (state?.step === "answering" && chosen) ask(chosen);
		else showStep(levels.length ? "choosing" : null);
	});

	on(form, "submit", async () => {
		const answered = fields.map((field) => ({ ...field, value: field.read() })).filter(({ value }) => value !== undefined);
		if (!answered.length) throw new PldpError("Please answer at least one question, or close the page");
		const before = device.ledger().total;
		draft.forget();
		report = await device.answerAll(
			new Map(answered.map(({ question, value }) => [question.name, value])),
			new Map(answered.map(({ question, level }) => [question.name, level.name])));
		form.reset();
		showReport(survey, report, device.ledger().total - before);
		showLedger(survey, device);
		showStep("preview");
	});

	on(byId("send"), "click", () => {
		const drawn = report;
		finish();
		return sending.send(drawn);
	});

	const leave = async () => {
		finish();
		await changed();
		announce("Not sent. The report stays on this device.");
	};
	on(byId("keep"), "click", leave);

	return async (questions) => {
		room = roomOf(survey, device);
		levels = await openLevels(survey, device, questions, room);
		[report, chosen, fields] = [null, null, []];
		showLevels(byId("levels"), survey, levels, room, device.ledger().cap);
		show("spent-out", questions.length > 0 && !levels.length);
		for (const step of STEPS) show(step, step === "choosing" && levels.length > 0);
		const kept = draft.kept(namesAt);
		if (!kept) return;
		ask(kept.level);
		byId("levels").querySelector(`[value="${CSS.escape(kept.level)}"]`).checked = true;
		draft.fill(form, kept.fields);
		settled();
		if (history.state?.step !== "answering") showStep("choosing");
	};
};

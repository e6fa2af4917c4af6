/** Choose a level, answer, look at the report. The way back is open until the report is drawn. */
import { PldpError } from "./device/index.js";
import { byId, make } from "./dom.js";
import { fill, valuesOf } from "./draft.js";
import { answerInWords, questionFields } from "./form.js";
import { roomOf, showLedger } from "./ledger.js";
import { openLevels, showLevels, sum, toldBy } from "./levels.js";
import { percent, sureness } from "./odds.js";
import { announce, capital, on, show } from "./status.js";
import { deviceWords, epsilon, levelName, t } from "./words.js";

const STEPS = ["choosing", "answering", "preview"];

const showStep = (step) => {
	for (const each of STEPS) show(each, each === step);
	show("opening", step === "choosing");
	if (step) byId(step).querySelector("h2").focus();
};

const odds = (device, question, level) => {
	const [, ...lines] = device.explain(level, question.name, deviceWords()).replaceAll(";\n", "; ").split("\n");
	return make("details", {}, make("summary", {}, t("answer.told")),
		...lines.map((line) => make("p", {}, capital(line))));
};

/** The fields of a question, and a line for when it costs more than the other answers leave. */
const fieldsOf = async (device, { question, level, price }, place) => {
	const built = questionFields(question, place, await device.options(question.name));
	const dear = make("p", { className: "muted small", hidden: true }, t("answer.dear", { price: epsilon(price) }));
	built.fieldset.append(dear, odds(device, question, level.name));
	return { question, level, price, dear, ...built };
};

/** Close questions that the answers so far leave no room for, and say what the report will tell. */
const settle = (fields, room) => {
	const answered = fields.filter(({ read }) => read() !== undefined);
	const cost = sum(answered.map(({ price }) => price));
	// What required questions will cost is not to be spent on others.
	const owed = fields.filter((field) => field.question.required && !answered.includes(field));
	const kept = sum(owed.map(({ price }) => price));
	for (const field of fields) {
		field.fieldset.disabled = !answered.includes(field) && !owed.includes(field) && cost + kept + field.price > room;
		field.dear.hidden = !field.fieldset.disabled;
	}
	const told = toldBy(answered);
	const sure = told === Infinity ? t("answer.proves") : t("answer.sure", { percent: percent(sureness(told)) });
	const costs = t("answer.costs", { count: answered.length, all: fields.length, cost: epsilon(cost) });
	byId("costing").textContent = answered.length ? `${costs} ${sure}` : t("answer.nothing");
};

const showReport = (survey, report, cost) => {
	const lines = report.answers.map((answer) => answerInWords(survey.question(answer.question), answer));
	byId("words").replaceChildren(...lines.map((line) => make("li", {}, line)));
	byId("exact").textContent = JSON.stringify(report);
	byId("cost").textContent = t("report.cost", { cost: epsilon(cost) });
};

/** Return what begins anew with the questions that can still be answered. */
export const openSteps = (survey, device, sending, changed) => {
	let [levels, chosen, fields, report, room] = [[], null, [], null, 0];
	const form = byId("answering");
	const settled = () => settle(fields, room);
	const answersAt = (name) => levels.find((level) => level.name === name)?.answers ?? [];
	const namesAt = (name) => answersAt(name).map(({ question }) => question.name);

	const ask = async (name) => {
		if (name !== chosen) {
			chosen = name;
			fields = await Promise.all(answersAt(name).map((answer, place) => fieldsOf(device, answer, place)));
			byId("questions").replaceChildren(...fields.map(({ fieldset }) => fieldset));
			byId("chosen").textContent = t("answer.level", { level: levelName(name) });
		}
		settled();
		showStep("answering");
	};

	/** Leave nothing of the answers and their level on the page. */
	const forget = () => {
		[chosen, fields] = [null, []];
		byId("questions").replaceChildren();
		byId("chosen").textContent = "";
	};

	/** Nothing is asked until the page begins anew. */
	const finish = () => {
		[report, levels] = [null, []];
		showStep(null);
	};

	on(byId("choosing"), "submit", async ({ target }) => {
		await ask(new FormData(target).get("level"));
		// The browser's own buttons lead back and forth, too.
		if (history.state?.step !== "answering") history.pushState({ step: "answering" }, "");
	});

	form.addEventListener("change", settled);
	form.addEventListener("input", settled);

	// Answers that are not drawn yet are nowhere else; the words of the question are the browser's.
	addEventListener("beforeunload", (event) => {
		if (!fields.some(({ read }) => read() !== undefined)) return;
		event.preventDefault();
		event.returnValue = true;
	});

	on(byId("back"), "click", () => history.back());
	on(byId("forget"), "click", () => {
		forget();
		showStep("choosing");
		announce(t("answer.forgotten"));
	});

	addEventListener("popstate", async ({ state }) => {
		if (report) return leave();
		if (state?.step === "answering" && chosen) await ask(chosen);
		else showStep(levels.length ? "choosing" : null);
	});

	on(form, "submit", async () => {
		const answered = fields.map((field) => ({ ...field, value: field.read() })).filter(({ value }) => value !== undefined);
		if (!answered.length) throw new PldpError(t("answer.none"));
		const before = device.ledger().total;
		report = await device.answerAll(
			new Map(answered.map(({ question, value }) => [question.name, value])),
			new Map(answered.map(({ question, level }) => [question.name, level.name])));
		forget();
		byId("levels").replaceChildren();
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
		announce(t("report.kept"));
	};
	on(byId("keep"), "click", leave);

	return async (questions) => {
		room = roomOf(survey, device);
		const open = await openLevels(survey, device, questions, room);
		const ticked = new FormData(byId("choosing")).get("level");
		const draft = chosen && { level: chosen, names: JSON.stringify(namesAt(chosen)), values: valuesOf(form) };
		[levels, report] = [open, null];
		forget();
		showLevels(byId("levels"), survey, levels, room, device.ledger().cap);
		for (const each of byId("choosing").elements) if (each.value === ticked) each.checked = true;
		show("spent-out", questions.length > 0 && !levels.length);
		for (const step of STEPS) show(step, step === "choosing" && levels.length > 0);
		show("opening", levels.length > 0);
		if (!draft || JSON.stringify(namesAt(draft.level)) !== draft.names) return;
		await ask(draft.level);
		fill(form, draft.values);
		settled();
		if (history.state?.step !== "answering") showStep("choosing");
	};
};

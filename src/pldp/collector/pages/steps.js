/** Choose a level, answer, look at the report. The way back is open until the report is drawn. */
import { times } from "./device/explain.js";
import { PldpError } from "./device/index.js";
import { byId, make } from "./dom.js";
import { fill, valuesOf } from "./draft.js";
import { answerInWords, questionFields } from "./form.js";
import { roomOf, showLedger } from "./ledger.js";
import { option } from "./kinds/labels.js";
import { openBudget, openLevels, showLevels } from "./levels.js";
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
const fieldsOf = async (device, { question, level }, place, budget) => {
	const built = questionFields(question, place, await device.options(question.name));
	const price = epsilon(budget.cost([{ question, level }]));
	const dear = make("p", { className: "muted small", hidden: true }, t("answer.dear", { price }));
	built.fieldset.append(dear, odds(device, question, level.name));
	return { question, level, dear, ...built };
};

/** Close questions that the answers so far leave no room for, and say what the report will tell. */
const settle = (fields, budget) => {
	const answered = fields.filter(({ read }) => read() !== undefined);
	// What required questions will cost is not to be spent on others.
	const owed = fields.filter((field) => field.question.required && !answered.includes(field));
	for (const field of fields) {
		const isFree = answered.includes(field) || owed.includes(field);
		field.fieldset.disabled = !isFree && !budget.allows([...answered, ...owed, field]);
		field.dear.hidden = !field.fieldset.disabled;
	}
	byId("costing").textContent = answered.length ? wholeReport(fields, answered, budget) : t("answer.nothing");
};

/** What a report with these answers tells, and what it can prove. */
const wholeReport = (fields, answered, budget) => {
	const cost = budget.cost(answered);
	const level = budget.level(answered);
	return [
		t("answer.costs", { count: answered.length, all: fields.length, cost: epsilon(cost) }),
		t("answer.sure", { percent: percent(sureness(cost)) }),
		answered.some(({ level: { open } }) => open.length) && t("answer.proves"),
		level && t("answer.level told", { times: times(deviceWords(), level.after), stop: times(deviceWords(), level.cap) }),
	].filter(Boolean).join(" ");
};

const showReport = (survey, report, cost) => {
	const lines = report.answers.map((answer) => answerInWords(survey.question(answer.question), answer));
	byId("words").replaceChildren(...lines.map((line) => make("li", {}, line)));
	byId("exact").textContent = JSON.stringify(report);
	byId("cost").textContent = t("report.cost", { cost: epsilon(cost) });
};

/** Where levels are hidden and a label or level was drawn: what was told so far, and the offer to say that the level is another one. */
const showLabel = (level, drawn, isNew, changed) => {
	if (!level?.hasLabel && !drawn) return byId("label").replaceChildren();
	const told = drawn
		? t("choose.drawn", { level: levelName(drawn) })
		: t("choose.told", { times: times(deviceWords(), level.before), stop: times(deviceWords(), level.cap) });
	const box = option("checkbox", "new-label", "new-label", drawn ? t("choose.new draw") : t("choose.new label"), { checked: isNew });
	on(box, "change", changed);
	return byId("label").replaceChildren(make("p", { className: "muted small" }, told), box);
};

/** Whether nothing can be answered because too much would be told about the level. */
const isToldEnough = (questions, budget) =>
	questions.length > 0 && questions.every((question) => {
		const level = budget.level([{ question, level: question.levels[0] }]);
		return level && level.after > level.cap;
	});

/** Return what begins anew with the questions that can still be answered. */
export const openSteps = (survey, device, sending, changed) => {
	let [levels, chosen, fields, report, budget, asked] = [[], null, [], null, null, []];
	const form = byId("answering");
	const settled = () => settle(fields, budget);
	const answersAt = (name) => levels.find((level) => level.name === name)?.answers ?? [];
	const namesAt = (name) => answersAt(name).map(({ question }) => question.name);

	const ask = async (name) => {
		if (name !== chosen) {
			chosen = name;
			fields = await Promise.all(answersAt(name).map((answer, place) => fieldsOf(device, answer, place, budget)));
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
			new Map(answered.map(({ question, level }) => [question.name, level.name])), { newLabel: newLabel() });
		forget();
		for (const id of ["levels", "label"]) byId(id).replaceChildren();
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

	/** Whether the person says that they choose another level than before. */
	const newLabel = () => byId("new-label")?.checked ?? false;

	const offer = async (questions) => {
		asked = questions;
		const next = await openBudget(device, roomOf(survey, device), newLabel());
		const open = openLevels(survey, questions, next);
		const ticked = new FormData(byId("choosing")).get("level");
		const draft = chosen && { level: chosen, names: JSON.stringify(namesAt(chosen)), values: valuesOf(form) };
		[levels, report, budget] = [open, null, next];
		forget();
		showLevels(byId("levels"), survey, levels, budget, device.ledger().cap);
		showLabel(budget.level([]), budget.drawn, newLabel(), () => offer(asked).then(() => byId("new-label")?.focus()));
		for (const each of byId("choosing").elements) if (each.name === "level" && each.value === ticked) each.checked = true;
		show("spent-out", questions.length > 0 && !levels.length);
		byId("spent-out").textContent = t(isToldEnough(questions, budget) ? "spent level" : "spent out", { stop: times(deviceWords(), budget.level([])?.cap ?? 0) });
		for (const step of STEPS) show(step, step === "choosing" && levels.length > 0);
		show("opening", levels.length > 0);
		if (!draft || JSON.stringify(namesAt(draft.level)) !== draft.names) return;
		await ask(draft.level);
		fill(form, draft.values);
		settled();
		if (history.state?.step !== "answering") showStep("choosing");
	};
	return offer;
};

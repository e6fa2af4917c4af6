/** The survey page: choose a level, answer, look at the report, send it, take it back. */
import { databaseStore, openDevice, PldpError, readSurvey } from "./device/index.js";
import { epsilonText } from "./device/epsilon.js";
import { byId, make } from "./dom.js";
import { questionFields } from "./form.js";
import { showLedger } from "./ledger.js";
import { levelFor, showLevels } from "./levels.js";
import { openReports } from "./receipts.js";
import { answerInWords } from "./words.js";

const metaOf = (name) => document.querySelector(`meta[name="${name}"]`).content;
const [COLLECTOR, TRUSTED_KEY] = [new URL(metaOf("pldp-collector"), document.baseURI), metaOf("pldp-trusted-key")];

const show = (id, visible = true) => (byId(id).hidden = !visible);
const say = (text) => (byId("status").textContent = text);
const capital = (line) => line[0].toUpperCase() + line.slice(1);
const focusOn = (element) => element.focus();

const failed = (error) => {
	const known = error instanceof PldpError ? error.message : `this page made a mistake (${error?.name})`;
	const line = error?.name === "SurveyError" ? `this page cannot ask this survey (${known})` : known;
	byId("error").textContent = `${capital(line)}.`;
	show("error");
	focusOn(byId("error"));
};

/** Run what a person asked for; whatever goes wrong becomes one line. */
const on = (target, kind, work) =>
	target.addEventListener(kind, (event) => {
		event.preventDefault();
		show("error", false);
		say("");
		Promise.resolve(event).then(work).catch(failed);
	});

const fetchSurvey = async () => {
	const response = await fetch(new URL("v1/survey", COLLECTOR), { credentials: "omit" }).catch(() => null);
	if (!response?.ok) throw new PldpError("The survey cannot be loaded now; please try again later");
	return response.text();
};

const aboutSignature = (text) => {
	const key = JSON.parse(text).signature?.public_key;
	const here = "This page and the survey come from the same server. Whoever runs it can change both, and a changed page could read your answers.";
	if (TRUSTED_KEY) return `The survey was signed with the key that this page trusts (${TRUSTED_KEY.slice(0, 16)}…).`;
	return key ? `${here} The survey carries a signature that fits (key ${key.slice(0, 16)}…).` : `${here} The survey is not signed.`;
};

const text = await fetchSurvey().catch(failed);
const survey = text && (await readSurvey(text, TRUSTED_KEY ? { trustedKey: TRUSTED_KEY } : {}).catch(failed));
if (survey) await start().catch(failed);

async function start() {
	const device = await openDevice(survey, { store: databaseStore("pldp") });
	const reports = await openReports(COLLECTOR);
	const asked = device.asked.map((name) => survey.question(name));
	let [fields, report, timer] = [[], null, null];

	document.title = survey.title;
	byId("title").textContent = survey.title;
	byId("collector").textContent = survey.collector && `A survey of ${survey.collector}`;
	byId("hash").textContent = survey.hash;
	byId("signature").textContent = aboutSignature(text);
	byId("shown").textContent = survey.hiding ? "Your report hides the level, too." : "Your report shows the level that you chose.";
	showLevels(byId("levels"), survey, asked);
	for (const id of ["promise", "choosing", "reports", "ledger", "about"]) show(id);

	const STATES = {
		waiting: "waits to be sent", sent: "sent", withdrawn: "withdrawn",
		refused: "refused by the collector",
	};
	const receiptOf = ({ day, questions, state, receipt, code }) => {
		const line = make("p", {}, `${day}: ${questions.join(", ")} – ${STATES[state]}${code ? ` (${code})` : ""}`);
		if (state !== "sent" || !receipt) return make("li", {}, line);
		const copy = make("button", { type: "button" }, "Copy");
		const erase = make("button", { type: "button" }, "Withdraw");
		on(copy, "click", async () => {
			await navigator.clipboard.writeText(receipt);
			say("The receipt is copied.");
		});
		on(erase, "click", () => takeBack(receipt));
		return make("li", {}, line, make("p", { className: "code receipt" }, receipt), make("div", { className: "buttons" }, copy, erase));
	};
	const showReports = () => {
		const here = reports.all().filter((each) => each.survey === survey.hash);
		byId("receipts").replaceChildren(...here.toReversed().map(receiptOf));
	};

	const takeBack = async (receipt) => {
		const { outcome, code } = await reports.withdraw(receipt);
		showReports();
		if (outcome === "kept") throw new PldpError("The collector cannot be reached now; please try again later");
		if (outcome === "dropped") throw new PldpError(code === "unknown_receipt" ? "No stored report has this receipt" : `The collector refuses this (${code})`);
		say("Withdrawn: the report is erased, and estimates are made without it.");
		focusOn(byId("status"));
	};

	const flush = async (work = reports.flush) => {
		const { results, waiting, due } = await work();
		showReports();
		clearTimeout(timer);
		if (waiting) timer = setTimeout(() => flush().catch(failed), Math.max(due - Date.now(), 1000));
		const sent = results.filter(({ outcome }) => outcome === "sent").length;
		if (waiting) say("The collector cannot be reached. Your report waits on this device and is sent when it can be.");
		else if (sent) say("Sent. Thank you! Your receipt is below.");
		return results;
	};

	on(byId("choosing"), "submit", ({ target }) => {
		const chosen = new FormData(target).get("level");
		fields = asked.flatMap((question, place) => {
			const level = levelFor(survey, question, chosen);
			return level === null ? [] : [{ question, level, ...questionFields(question, place) }];
		});
		byId("chosen").textContent = `Level “${chosen}”. It stays until you open this page again.`;
		byId("questions").replaceChildren(...fields.map(({ fieldset, question, level }) => {
			const [, ...lines] = device.explain(level, question.name).split("\n");
			fieldset.append(make("details", {}, make("summary", {}, "What your report will tell"), make("p", {}, capital(lines.join(" ")))));
			return fieldset;
		}));
		show("choosing", false);
		show("answering");
		focusOn(byId("answering").querySelector("h2"));
	});

	on(byId("answering"), "submit", async () => {
		const answered = fields.map((field) => ({ ...field, value: field.read() })).filter(({ value }) => value !== undefined);
		if (!answered.length) throw new PldpError("Please answer at least one question, or close the page");
		const before = device.ledger().total;
		report = await device.answerAll(
			new Map(answered.map(({ question, value }) => [question.name, value])),
			new Map(answered.map(({ question, level }) => [question.name, level])));
		byId("words").replaceChildren(...report.answers.map((answer) => make("li", {}, answerInWords(survey, answer))));
		byId("exact").textContent = JSON.stringify(report);
		byId("cost").textContent = `Drawing this report cost ε = ${epsilonText(device.ledger().total - before)}. It counts also if you do not send it; otherwise one could draw again until a report looks right.`;
		byId("answering").reset();
		showLedger(survey, device);
		show("answering", false);
		show("preview");
		focusOn(byId("preview-title"));
	});

	on(byId("send"), "click", async () => {
		const sending = report;
		report = null;
		show("preview", false);
		const results = await flush(() => reports.send(sending));
		const refused = results.find(({ id, outcome }) => id === sending.id && outcome === "dropped");
		if (refused) throw new PldpError(`The collector refused the report (${refused.code ?? refused.reason})`);
		focusOn(byId("status"));
	});

	on(byId("keep"), "click", () => {
		report = null;
		show("preview", false);
		say("Not sent. To answer again, open this page again.");
		focusOn(byId("status"));
	});

	on(byId("withdrawing"), "submit", async ({ target }) => {
		await takeBack(byId("receipt").value.trim());
		target.reset();
	});

	addEventListener("online", () => flush().catch(failed));
	showLedger(survey, device);
	if (reports.all().length) await flush();
}

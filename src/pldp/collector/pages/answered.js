/** What this person has already answered: what was said, what became of it, and the way to say something else. */
import { byId, make, refill } from "./dom.js";
import { answerInWords } from "./form.js";
import { roomOf } from "./ledger.js";
import { on, show } from "./status.js";
import { epsilon, t } from "./words.js";

const STATES = ["waiting", "sent", "refused"];

/** The reports that answer questions of this survey, each with the names of these. */
const reportsOf = async (device) => {
	const found = new Map();
	for (const name of await device.answered()) {
		const { report, round } = await device.sent(name);
		const { names = [] } = found.get(report.id) ?? {};
		found.set(report.id, { report, round, names: [...names, name] });
	}
	return [...found.values()];
};

/** What the next answers cost at the cheapest level of each, which is not always the strictest where answers are tracked. */
const leastPrice = async (survey, device, names) => {
	const quote = await device.quote();
	const cheapest = (name) => survey.question(name).levels.map((level) => [name, level.name]).reduce((a, b) => (quote([b]).cost < quote([a]).cost ? b : a));
	return quote(names.map(cheapest)).cost;
};

/** What answering these again costs at least, and a button for it if there is as much left. */
const secondTry = async (survey, device, names, takeBack) => {
	const [price, room] = [await leastPrice(survey, device, names), roomOf(survey, device)];
	if (price > room) {
		return make("p", { className: "muted small" }, t("answered.too dear", { price: epsilon(price), room: epsilon(room) }));
	}
	const button = make("button", { type: "button" }, t("answered.again", { price: epsilon(price) }));
	on(button, "click", takeBack);
	return button;
};

const entryOf = async (survey, device, sending, isOpen, { report, round, names }) => {
	const state = sending.stateOf(report.id);
	const said = report.answers.filter(({ question }) => names.includes(question));
	const lines = said.map((answer) => make("p", {}, answerInWords(survey.question(answer.question), answer)));
	const buttons = make("div", { className: "buttons" });
	if (isOpen && state !== "sent" && state !== "waiting" && report.survey === survey.hash && round === device.round) {
		const send = make("button", { type: "button" }, t("report.send"));
		on(send, "click", () => sending.send(report));
		buttons.append(send);
	}
	if (isOpen && state !== "waiting") {
		const takeBack = async () => sending.takeBack(await device.receipt(report));
		buttons.append(await secondTry(survey, device, names, takeBack));
	}
	return make("li", {}, ...lines, make("p", { className: "muted small" }, t(`answered.${STATES.includes(state) ? state : "unsent"}`)), buttons);
};

export const showAnswered = async (survey, device, sending, isOpen) => {
	const reports = await reportsOf(device);
	const entries = [];
	for (const each of reports) entries.push(await entryOf(survey, device, sending, isOpen, each));
	refill(byId("said"), entries, reports.map(({ report }) => report.id));
	show("answered", reports.length > 0);
};

/** Reports on their way and after: the queue, the receipts, the way back. */
import { PldpError } from "./device/index.js";
import { byId, make, refill } from "./dom.js";
import { openReports } from "./reports.js";
import { announce, confirmed, failed, on, say, show } from "./status.js";
import { passageOf, questionText, t } from "./words.js";

const REFUSALS = ["bad_token", "preview", "closed_round", "closed_survey", "over_budget"];

const refusalOf = ({ code, reason }) =>
	REFUSALS.includes(code) ? t(`refused.${code}`) : t("refused", { code: code ?? reason });

const receiptOf = (survey, { day, questions, state, receipt, code }, takeBack) => {
	const named = questions.map((name) => questionText(survey.question(name))).join("; ");
	const line = make("p", {}, t(code ? "receipts.line code" : "receipts.line", { day, questions: named, state: t(`receipts.${state}`), code }));
	if (state !== "sent" || !receipt) return make("li", {}, line);
	const copy = make("button", { type: "button" }, t("receipts.copy"));
	const erase = make("button", { type: "button" }, t("receipts.withdraw"));
	on(copy, "click", () => navigator.clipboard.writeText(receipt).then(() => say(t("receipts.copied"))));
	on(erase, "click", () => takeBack(receipt));
	return make("li", {}, line,
		make("p", { className: "code receipt" }, receipt), make("div", { className: "buttons" }, copy, erase));
};

/** The name of a question that the report of this receipt answers, if it still answers any. */
const answeredBy = async (device, receipt) => {
	for (const name of await device.answered()) {
		const { report } = await device.sent(name);
		if ((await device.receipt(report)) === receipt) return name;
	}
	return null;
};

/** `update` shows what became of reports; `restart` also asks again what was withdrawn. */
export const openSending = async (survey, device, collector, update, restart) => {
	const reports = await openReports(survey, collector);
	let timer = null;

	const showReceipts = () => {
		const here = reports.all().filter((each) => each.survey === survey.hash);
		refill(byId("receipts"), here.toReversed().map((each) => receiptOf(survey, each, takeBack)));
		show("print", here.some(({ state, receipt }) => state === "sent" && receipt));
		show("thanks", Boolean(passageOf(survey, "thanks")) && here.some(({ state }) => state === "sent"));
	};

	const takeBack = async (receipt) => {
		if (!(await confirmed("confirming"))) return;
		const entry = reports.all().find((each) => each.receipt === receipt);
		if (entry?.state === "waiting") throw new PldpError(t("withdraw.waits"));
		const name = await answeredBy(device, receipt);
		const { outcome, code } = await reports.withdraw(receipt);
		if (outcome === "kept") throw new PldpError(t("withdraw.offline"));
		// A report of this device that the collector does not have was never sent, or is erased already.
		const gone = outcome === "sent" || (code === "unknown_receipt" && name !== null);
		if (!gone && code === "unknown_receipt") throw new PldpError(t("withdraw.unknown"));
		if (!gone && code === "reports_deleted") throw new PldpError(t("withdraw.deleted"));
		if (!gone) throw new PldpError(t("withdraw.refused", { code }));
		if (name !== null) await device.withdraw(name);
		showReceipts();
		await restart();
		announce(t("withdraw.done"));
	};

	const showAccount = async () => {
		const { amounts } = await reports.account();
		byId("account").textContent = amounts ? t("ledger.account", amounts) : "";
	};

	/** Show what became of reports, and come back for those that wait. */
	const follow = async (flushing) => {
		const { results, waiting, due } = await flushing;
		showReceipts();
		await update();
		await showAccount();
		clearTimeout(timer);
		if (waiting) timer = setTimeout(flush, Math.max(due - Date.now(), 1000));
		if (waiting) say(t("sent.offline"));
		else if (results.some(({ outcome }) => outcome === "sent")) say(t(passageOf(survey, "thanks") ? "sent.receipt" : "sent.thanks"));
		return results;
	};
	const flush = () => follow(reports.flush()).catch(failed);

	on(byId("withdrawing"), "submit", async ({ target }) => {
		await takeBack(byId("receipt").value.trim());
		target.reset();
	});
	byId("print").addEventListener("click", () => print());
	addEventListener("online", flush);

	const send = async (report) => {
		const results = await follow(reports.send(report, await device.receipt(report), device.round));
		const refused = results.find(({ id, outcome }) => id === report.id && outcome === "dropped");
		if (refused) throw new PldpError(refusalOf(refused));
		byId("status").focus();
	};

	const stateOf = (report) => reports.all().find(({ id }) => id === report)?.state;
	return { account: reports.account, flush, send, stateOf, takeBack };
};

/** Reports on their way and after: the queue, the receipts, the way back. */
import { PldpError } from "./device/index.js";
import { byId, make } from "./dom.js";
import { openReports } from "./reports.js";
import { announce, failed, on, say } from "./status.js";

const STATES = { waiting: "waits to be sent", sent: "sent", refused: "refused by the collector", withdrawn: "withdrawn" };

const REFUSALS = {
	bad_token: "The collector takes reports only with an invitation; open your link again",
	preview: "This is a preview with simulated people: the collector takes no answers",
	closed_round: "The round has ended, and the collector no longer takes this report",
};

const receiptOf = ({ day, questions, state, receipt, code }, takeBack) => {
	const line = make("p", {}, `${day}: ${questions.join(", ")} – ${STATES[state]}${code ? ` (${code})` : ""}`);
	if (state !== "sent" || !receipt) return make("li", {}, line);
	const copy = make("button", { type: "button" }, "Copy");
	const erase = make("button", { type: "button" }, "Withdraw");
	on(copy, "click", () => navigator.clipboard.writeText(receipt).then(() => say("The receipt is copied.")));
	on(erase, "click", () => takeBack(receipt));
	return make("li", {}, line,
		make("p", { className: "code receipt" }, receipt), make("div", { className: "buttons" }, copy, erase));
};

/** Ask whether a report is really to be erased. */
const confirmed = () =>
	new Promise((decide) => {
		const dialog = byId("confirming");
		dialog.returnValue = "no";
		dialog.addEventListener("close", () => decide(dialog.returnValue === "yes"), { once: true });
		dialog.showModal();
	});

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
		byId("receipts").replaceChildren(...here.toReversed().map((each) => receiptOf(each, takeBack)));
	};

	const takeBack = async (receipt) => {
		if (!(await confirmed())) return;
		const entry = reports.all().find((each) => each.receipt === receipt);
		if (entry?.state === "waiting") throw new PldpError("This report waits to be sent; withdraw it after that");
		const name = await answeredBy(device, receipt);
		const { outcome, code } = await reports.withdraw(receipt);
		if (outcome === "kept") throw new PldpError("The collector cannot be reached now; please try again later");
		// A report of this device that the collector does not have was never sent, or is erased already.
		const gone = outcome === "sent" || (code === "unknown_receipt" && name !== null);
		if (!gone && code === "unknown_receipt") throw new PldpError("No stored report has this receipt");
		if (!gone) throw new PldpError(`The collector refuses this (${code})`);
		if (name !== null) await device.withdraw(name);
		showReceipts();
		await restart();
		announce("Withdrawn: the report is erased, and estimates are made without it.");
	};

	const showAccount = async () => {
		const { words } = await reports.account();
		byId("account").textContent = words && `The collector's own account of your invitation: ${words}.`;
	};

	/** Show what became of reports, and come back for those that wait. */
	const follow = async (flushing) => {
		const { results, waiting, due } = await flushing;
		showReceipts();
		await update();
		await showAccount();
		clearTimeout(timer);
		if (waiting) timer = setTimeout(flush, Math.max(due - Date.now(), 1000));
		if (waiting) say("The collector cannot be reached. Your report waits on this device and is sent when it can be.");
		else if (results.some(({ outcome }) => outcome === "sent")) say("Sent. Thank you! Your receipt is below.");
		return results;
	};
	const flush = () => follow(reports.flush()).catch(failed);

	on(byId("withdrawing"), "submit", async ({ target }) => {
		await takeBack(byId("receipt").value.trim());
		target.reset();
	});
	addEventListener("online", flush);

	const send = async (report) => {
		const results = await follow(reports.send(report, await device.receipt(report), device.round));
		const refused = results.find(({ id, outcome }) => id === report.id && outcome === "dropped");
		if (refused) throw new PldpError(REFUSALS[refused.code] ?? `The collector refused the report (${refused.code ?? refused.reason})`);
		byId("status").focus();
	};

	const stateOf = (report) => reports.all().find(({ id }) => id === report)?.state;
	return { account: reports.account, flush, send, stateOf, takeBack };
};

/** Reports on their way and after: the queue, the receipts, the way back. */
import { PldpError } from "./device/index.js";
import { byId, make } from "./dom.js";
import { openReports } from "./reports.js";
import { announce, failed, on, say } from "./status.js";

const STATES = { waiting: "waits to be sent", sent: "sent", refused: "refused by the collector", withdrawn: "withdrawn" };

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

export const openSending = async (survey, collector) => {
	const reports = await openReports(collector);
	let timer = null;

	const showReceipts = () => {
		const here = reports.all().filter((each) => each.survey === survey.hash);
		byId("receipts").replaceChildren(...here.toReversed().map((each) => receiptOf(each, takeBack)));
	};

	const takeBack = async (receipt) => {
		const { outcome, code } = await reports.withdraw(receipt);
		showReceipts();
		if (outcome === "kept") throw new PldpError("The collector cannot be reached now; please try again later");
		if (code === "unknown_receipt") throw new PldpError("No stored report has this receipt");
		if (outcome === "dropped") throw new PldpError(`The collector refuses this (${code})`);
		announce("Withdrawn: the report is erased, and estimates are made without it.");
	};

	const showAccount = async () => {
		const account = await reports.account();
		byId("account").textContent = account
			? `The collector's own account of your invitation: ε = ${account.spent} of ${account.budget}.` : "";
	};

	/** Show what became of reports, and come back for those that wait. */
	const follow = async (flushing) => {
		const { results, waiting, due } = await flushing;
		showReceipts();
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
	flush();

	return async (report) => {
		const results = await follow(reports.send(report));
		const refused = results.find(({ id, outcome }) => id === report.id && outcome === "dropped");
		if (refused?.code === "bad_token") throw new PldpError("The collector takes reports only with an invitation; open your link again");
		if (refused) throw new PldpError(`The collector refused the report (${refused.code ?? refused.reason})`);
		byId("status").focus();
	};
};

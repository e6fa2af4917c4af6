/** What became of this person's reports. Answers are not among it. */
import { databaseStore, openQueue, withdraw } from "./device/index.js";
import { openStore } from "./device/state.js";
import { openInvitation } from "./invitation.js";

const understand = (content) => content.pldp_receipts === 1 && Array.isArray(content.reports) && content;

export const openReports = async (survey, collector) => {
	const kept = openStore(databaseStore("pldp receipts"), { pldp_receipts: 1, reports: [] }, understand);
	const { fetch, account } = await openInvitation(collector);
	const queue = openQueue(new URL("v1/reports", collector), survey, { store: databaseStore("pldp queue"), fetch });
	const edit = (work) => kept.change((content) => [null, { ...content, reports: work(content.reports) }]);
	const set = (id, change) => edit((reports) => reports.map((each) => (each.id === id ? { ...each, ...change } : each)));
	const STATES = { sent: "sent", dropped: "refused", kept: "waiting" };

	const note = async (flushed) => {
		for (const { id, outcome, code = null } of flushed.results) await set(id, { state: STATES[outcome], code });
		return flushed;
	};
	await kept.change(() => [null]);
	return {
		account,
		all: () => kept.known().reports,
		flush: () => queue.flush().then(note),
		send: async (report, receipt, round) => {
			const { id, answers } = report;
			const questions = answers.map(({ question }) => question);
			const day = new Date().toLocaleDateString("sv");
			const entry = { id, survey: survey.hash, questions, day, state: "waiting", receipt, code: null };
			await edit((reports) => [...reports.filter((each) => each.id !== id), entry]);
			return note(await queue.add(report, { round }));
		},
		withdraw: async (receipt) => {
			const result = await withdraw(new URL("v1/withdraw", collector), receipt);
			const gone = result.outcome === "sent" || result.code === "unknown_receipt";
			if (gone) await edit((reports) => reports.map((each) => (each.receipt === receipt ? { ...each, state: "withdrawn" } : each)));
			return result;
		},
	};
};

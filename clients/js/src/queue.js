import { bodyLength, bodyOf } from "./body.js";
import { fail } from "./errors.js";
import { inTurn, memoryStore, openStore } from "./state.js";

const [FIRST_WAIT, LONGEST_WAIT, LONGEST_REQUEST] = [1e3, 36e5, 3e4];
const LATER = [408, 425, 429];

const post = async (url, body, { fetch = globalThis.fetch } = {}) => {
	try {
		const response = await fetch(url, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body,
			// Nothing that links the reports of a person, and no other place than the one named.
			credentials: "omit",
			referrerPolicy: "no-referrer",
			redirect: "error",
			signal: AbortSignal.timeout(LONGEST_REQUEST),
		});
		const { ok, status, headers } = response;
		const { code } = (await response.json().catch(() => null)) ?? {};
		const refused = status >= 400 && status < 500 && !LATER.includes(status);
		const wait = 1000 * (Number(headers.get("retry-after")) || 0);
		return { outcome: ok ? "sent" : refused ? "dropped" : "kept", reason: `HTTP ${status}`, code, wait };
	} catch (error) {
		return { outcome: "kept", reason: `not reached (${error?.name})`, wait: 0 };
	}
};

/** The length of a report's body, whatever it says. */
const lengthFor = (survey, report) =>
	report.survey === survey.hash ? bodyLength(survey) : fail("AnswerError", "report must be one for this survey; it is not");

export const send = async (url, survey, report, options) => post(url, bodyOf(report, lengthFor(survey, report)), options);

export const withdraw = (url, receipt, options) => post(url, JSON.stringify({ receipt }), options);

/** Each report waits with its length and the round that it belongs to, if any; version 1 knew no rounds. */
const understandQueue = ({ pldp_queue, reports, ...content }) => {
	if (![1, 2].includes(pldp_queue) || !Array.isArray(reports)) return null;
	return { ...content, pldp_queue: 2, reports: pldp_queue === 1 ? reports.map((report) => ({ report })) : reports };
};

const addressOf = (url, round) => (round ? `${url}${String(url).includes("?") ? "&" : "?"}round=${round}` : url);

export const openQueue = (url, survey, { store = memoryStore(), fetch = globalThis.fetch, now = Date.now } = {}) => {
	const queue = openStore(store, { pldp_queue: 2, reports: [], tries: 0, due: 0 }, understandQueue);
	const settled = new Map();
	let sending = Promise.resolve();
	const without = ({ reports }, { id }) => reports.filter(({ report }) => report.id !== id);

	/** Let go of a report, or put it behind the others and let all wait. */
	const note = (entry, { outcome, wait }) =>
		queue.change((content) => {
			const reports = without(content, entry.report);
			if (outcome !== "kept") return [null, { ...content, reports, tries: 0, due: 0 }];
			const backOff = FIRST_WAIT * 2 ** content.tries * (0.5 + Math.random() / 2);
			const due = Math.ceil(now() + Math.min(Math.max(backOff, wait), LONGEST_WAIT));
			return [null, { ...content, reports: [...reports, entry], tries: content.tries + 1, due }];
		});

	const sendAll = async () => {
		const results = [];
		for (;;) {
			const { reports, due } = await queue.change((content) => [content]);
			// A time further away than any wait comes from a clock that was set back.
			const early = due > now() && due <= now() + LONGEST_WAIT;
			if (early || !reports.length) return { results, waiting: reports.length, due };
			const [{ report, round, length = bodyLength(survey) }] = reports; // older versions noted none
			const { id } = report;
			const result = settled.get(id) ?? (await post(addressOf(url, round), bodyOf(report, length), { fetch }));
			results.push({ id, ...result });
			if (result.outcome !== "kept") settled.set(id, result);
			await note(reports[0], result);
		}
	};
	const flush = () => {
		sending = sending.catch(() => {}).then(() => inTurn(store.name && `${store.name} sending`, sendAll));
		return sending;
	};
	const add = async (report, { round } = {}) => {
		const entry = { report, round, length: lengthFor(survey, report) };
		await queue.change((content) => [null, { ...content, reports: [...without(content, report), entry] }]);
		return flush();
	};
	return { add, flush };
};

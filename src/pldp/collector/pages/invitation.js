/** An invitation link carries a token behind its #, which browsers send to nobody; where uploads need one, it is that. */
import { microOfText, TOTAL } from "./device/epsilon.js";
import { databaseStore } from "./device/index.js";
import { openStore } from "./device/state.js";
import { confirmed, say } from "./status.js";
import { number, t } from "./words.js";

const understand = (content) => content.pldp_invitation === 1 && typeof content.token === "string" && content;

const NOBODY = { token: "", refused: false, spent: false, amounts: null };
const micro = (text) => microOfText(text, TOTAL) ?? 0;

const fetchWith = (token) => (url, options) =>
	fetch(url, { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } });

const fetchAccount = (token, collector) =>
	fetchWith(token)(new URL("v1/ledger", collector), { credentials: "omit" }).catch(() => null);

const isRefused = (response) => response?.status === 401 || response?.status === 403;

/** Whether the invitation of a link may replace the one that is kept: anybody can send a link, so it is checked and the person asked. */
const mayReplace = async (token, collector) => {
	const response = await fetchAccount(token, collector);
	// 404: a token for several people, which has no account of its own.
	if (response?.ok || response?.status === 404) return confirmed("replacing");
	say(t(isRefused(response) ? "invitation.not replaced" : "invitation.unchecked"));
	return false;
};

/** Take the token out of the address and keep it; give a fetch that shows it, and what the collector says of its person. */
export const openInvitation = async (collector) => {
	const kept = openStore(databaseStore("pldp invitation"), { pldp_invitation: 1, token: "" }, understand);
	const [, linked] = /^#([\w-]{20,})$/.exec(location.hash) ?? [];
	if (linked) history.replaceState(null, "", location.pathname + location.search);
	const keep = (content) => ({ ...content, token: linked });
	await kept.change((content) => [null, linked && !content.token && keep(content)]);
	const isOther = linked && linked !== kept.known().token;
	if (isOther && (await mayReplace(linked, collector))) await kept.change((content) => [null, keep(content)]);
	const { token } = kept.known();
	if (!token) return { fetch, account: async () => NOBODY };
	const account = async () => {
		const response = await fetchAccount(token, collector);
		const refused = isRefused(response);
		if (!response?.ok) return { ...NOBODY, token, refused };
		const { budget, spent, price } = await response.json();
		// Every report costs the same there, so that what is spent does not tell the levels.
		return { token, refused, spent: micro(spent) + micro(price) > micro(budget), amounts: { spent: number(spent), budget: number(budget) } };
	};
	return { fetch: fetchWith(token), account };
};

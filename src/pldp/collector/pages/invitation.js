/** An invitation link carries a token behind its #, which browsers send to nobody; where uploads need one, it is that. */
import { microOfText, TOTAL } from "./device/epsilon.js";
import { databaseStore } from "./device/index.js";
import { openStore } from "./device/state.js";
import { number } from "./words.js";

const understand = (content) => content.pldp_invitation === 1 && typeof content.token === "string" && content;

const NOBODY = { token: "", refused: false, spent: false, amounts: null };
const micro = (text) => microOfText(text, TOTAL) ?? 0;

/** Take the token out of the address and keep it; give a fetch that shows it, and what the collector says of its person. */
export const openInvitation = async (collector) => {
	const kept = openStore(databaseStore("pldp invitation"), { pldp_invitation: 1, token: "" }, understand);
	const [, given] = /^#([\w-]{20,})$/.exec(location.hash) ?? [];
	await kept.change((content) => [null, given && { ...content, token: given }]);
	if (given) history.replaceState(null, "", location.pathname + location.search);
	const { token } = kept.known();
	if (!token) return { fetch, account: async () => NOBODY };
	const shown = (url, options) => fetch(url, { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } });
	const account = async () => {
		const response = await shown(new URL("v1/ledger", collector), { credentials: "omit" }).catch(() => null);
		const refused = response?.status === 401 || response?.status === 403;
		if (!response?.ok) return { ...NOBODY, token, refused };
		const { budget, spent, price } = await response.json();
		// Every report costs the same there, so that what is spent does not tell the levels.
		return { token, refused, spent: micro(spent) + micro(price) > micro(budget), amounts: { spent: number(spent), budget: number(budget) } };
	};
	return { fetch: shown, account };
};

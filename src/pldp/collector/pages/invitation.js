/** An invitation link carries a token behind its #, which browsers send to nobody; where uploads need one, it is that. */
import { databaseStore } from "./device/index.js";
import { openStore } from "./device/state.js";

const understand = (content) => content.pldp_invitation === 1 && typeof content.token === "string" && content;

/** Take the token out of the address and keep it; give a fetch that shows it, and what its person has spent. */
export const openInvitation = async (collector) => {
	const kept = openStore(databaseStore("pldp invitation"), { pldp_invitation: 1, token: "" }, understand);
	const [, given] = /^#([\w-]{20,})$/.exec(location.hash) ?? [];
	await kept.change((content) => [null, given && { ...content, token: given }]);
	if (given) history.replaceState(null, "", location.pathname + location.search);
	const { token } = kept.known();
	if (!token) return { fetch, account: async () => null };
	const shown = (url, options) => fetch(url, { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } });
	const account = async () => {
		const response = await shown(new URL("v1/ledger", collector), { credentials: "omit" }).catch(() => null);
		return response?.ok ? response.json() : null;
	};
	return { fetch: shown, account };
};

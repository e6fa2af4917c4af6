/** An invitation link carries a token behind its #, which browsers send to nobody; where uploads need one, it is that. */
import { databaseStore } from "./device/index.js";
import { openStore } from "./device/state.js";

const isGood = ({ pldp_invitation, token }) => pldp_invitation === 1 && typeof token === "string";

/** Return a fetch that shows the token, once the link has been taken out of the address and kept. */
export const openInvitation = async () => {
	const kept = openStore(databaseStore("pldp invitation"), { pldp_invitation: 1, token: "" }, isGood);
	const [, given] = /^#([\w-]{20,})$/.exec(location.hash) ?? [];
	await kept.change((content) => [null, given && { ...content, token: given }]);
	if (given) history.replaceState(null, "", location.pathname + location.search);
	const { token } = kept.known();
	if (!token) return fetch;
	return (url, options) => fetch(url, { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } });
};

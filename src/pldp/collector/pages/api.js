/** Requests with the token, which is kept for this tab only. */
const KEY = "pldp-token";

export const token = {
	/** Take a token out of the address: what stands behind # is sent to nobody. */
	take: () => {
		const [, given] = /^#([\w-]{20,})$/.exec(location.hash) ?? [];
		if (!given) return;
		token.set(given);
		history.replaceState(null, "", location.pathname + location.search);
	},
	get: () => sessionStorage.getItem(KEY),
	set: (text) => sessionStorage.setItem(KEY, text),
	forget: () => sessionStorage.removeItem(KEY),
};

const WORDS = {
	bad_token: "This token is not valid. Make one with the command that pldp serve printed: pldp store token NAME --database FILE",
	wrong_scope: "This token does not allow that. Make another one with the command that pldp serve printed, and --scope read (or admin, to run rounds)",
};

/** What the collector refused, in one line. */
export class Refused extends Error {
	constructor(status, problem, wait) {
		super(WORDS[problem.code] ?? [problem.title ?? `The collector answered ${status}`, problem.detail].filter(Boolean).join(": "));
		this.code = problem.code;
		this.wait = wait;
	}
}

export const ask = async (path, options = {}) => {
	const headers = { authorization: `Bearer ${token.get()}`, ...options.headers };
	const answer = await fetch(`v1/${path}`, { ...options, headers, cache: "no-store" });
	if (answer.ok || answer.status === 304) return answer;
	throw new Refused(answer.status, await answer.json().catch(() => ({})), Number(answer.headers.get("retry-after")) || 0);
};

/** Save an answer as a file: a link cannot carry the token. */
export const download = async (path, name) => {
	const file = URL.createObjectURL(await (await ask(path)).blob());
	const link = Object.assign(document.createElement("a"), { href: file, download: name.replace(/[^\w.-]+/gu, "_") });
	link.click();
	setTimeout(() => URL.revokeObjectURL(file), 60_000);
};

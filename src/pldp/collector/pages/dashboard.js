/** The dashboard: shows what the collector renders, asked for every two seconds while the page is visible; unchanged, that is a few bytes. */
import { Refused, ask, download, token } from "./api.js";
import { byId } from "./dom.js";

const EVERY = 2000;
const LONGEST = 30_000;
const TIME = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };

let chosen = "";
let tag = null;
let timer = 0;
let failures = 0;
let asking = null;

const say = (line) => (byId("status").textContent = line);

const tell = (error) => {
	const place = byId("error");
	place.textContent = error instanceof Refused ? error.message : "The collector cannot be reached. Trying again …";
	place.hidden = false;
};

/** Nodes of a page part that the collector rendered. Its texts are escaped there, and nothing in it can run: a parsed document has no scripts, and the policy forbids inline ones. */
const parse = (markup) => new DOMParser().parseFromString(markup, "text/html").body;

/** Times of day come in UTC; readers see them in their own zone. */
const localTimes = (part) => {
	for (const time of part.querySelectorAll("time")) {
		const short = /^\d/.test(time.textContent);
		time.textContent = new Date(time.dateTime).toLocaleString("en-GB", short ? { hour: "2-digit", minute: "2-digit" } : TIME);
	}
};

/** What a part that can be opened or focused is called, so that it stays so when numbers change. */
const key = (part) => `${part.closest("section")?.getAttribute("aria-labelledby")} ${part.querySelector("summary")?.textContent ?? part.textContent}`;
const keys = (parts) => new Set([...parts].map(key));

const show = (markup) => {
	const [board, fresh] = [byId("board"), parse(markup)];
	localTimes(fresh);
	const opened = keys(board.querySelectorAll("details[open]"));
	const focused = board.contains(document.activeElement) ? key(document.activeElement) : null;
	const loaded = new Map([...board.querySelectorAll("details[data-more]")].map((part) => [key(part), part]));
	for (const part of fresh.querySelectorAll("details")) {
		if (loaded.has(key(part))) part.replaceChildren(...loaded.get(key(part)).childNodes);
		part.open = opened.has(key(part));
	}
	board.replaceChildren(...fresh.childNodes);
	if (focused) [...board.querySelectorAll("summary, button, a, h2")].find((part) => key(part) === focused)?.focus({ preventScroll: true });
	const facts = board.firstElementChild?.dataset ?? {};
	if (!facts.round) return;
	document.title = `${facts.title} – dashboard`;
	byId("title").textContent = facts.title;
	byId("collector").textContent = facts.by || "Dashboard";
	byId("fresh").textContent = `As of ${new Date().toLocaleTimeString("en-GB")}`;
	const select = byId("round");
	if (select.options.length !== Number(facts.rounds) + 1) {
		const numbers = Array.from({ length: Number(facts.rounds) }, (_, place) => String(Number(facts.rounds) - place));
		select.replaceChildren(new Option("latest", ""), ...numbers.map((number) => new Option(number, number)));
		select.value = chosen;
	}
};

const enter = (inside) => {
	byId("entering").hidden = inside;
	byId("enter").disabled = false;
	for (const id of ["board", "controls"]) byId(id).hidden = !inside;
};

const leave = () => {
	clearTimeout(timer);
	asking?.abort();
	token.forget();
	[tag, chosen] = [null, ""];
	byId("board").replaceChildren();
	byId("round").replaceChildren();
	say("");
	enter(false);
	byId("token").focus();
};

/** Look once; say when to look again, or nothing if this is over. */
const look = async () => {
	asking?.abort();
	asking = new AbortController();
	const { signal } = asking;
	try {
		const answer = await ask(`overview.html${chosen && `?round=${chosen}`}`, { headers: tag ? { "if-none-match": tag } : {}, signal });
		if (answer.status === 200) {
			const markup = await answer.text();
			if (byId("board").hidden) say("Signed in.");
			enter(true);
			show(markup);
			tag = answer.headers.get("etag");
		}
		if (failures) say("Connected again.");
		failures = 0;
		byId("error").hidden = true;
		return EVERY;
	} catch (error) {
		if (signal.aborted) return null;
		tell(error);
		if (["bad_token", "wrong_scope"].includes(error.code)) {
			leave();
			return null;
		}
		failures += 1;
		return Math.max(1000 * (error.wait ?? 0), Math.min(LONGEST, EVERY * 2 ** failures));
	}
};

const watch = async () => {
	clearTimeout(timer);
	if (!token.get() || document.hidden) return;
	const wait = await look();
	if (wait === null) return;
	clearTimeout(timer);
	timer = setTimeout(watch, wait);
};

const change = async (what) => {
	try {
		const { number, open } = await (await ask(`rounds/${what}`, { method: "POST" })).json();
		say(`Round ${number} is ${open ? "open" : "closed"}.`);
		byId("error").hidden = true;
		setTimeout(watch, 1000);
	} catch (error) {
		tell(error);
	}
};

/** Load what is made only on request. */
const load = async (part) => {
	const { more, part: wanted } = part.dataset;
	const found = parse(await (await ask(more)).text()).querySelector(wanted);
	part.replaceChildren(part.querySelector("summary"), found ?? "Nothing was found.");
};

byId("entering").addEventListener("submit", (event) => {
	event.preventDefault();
	token.set(byId("token").value.trim());
	byId("token").value = "";
	byId("error").hidden = true;
	byId("enter").disabled = true;
	say("Signing in …");
	watch();
});
byId("round").addEventListener("change", ({ target }) => {
	[chosen, tag] = [target.value, null];
	say(chosen ? `Showing round ${chosen}.` : "Showing the latest round.");
	watch();
});
byId("board").addEventListener("click", ({ target }) => {
	const { file, name, act } = target.closest("button")?.dataset ?? {};
	if (file) download(file, name).catch(tell);
	if (act === "open") change("open");
	if (act === "close") byId("closing").showModal();
});
byId("board").addEventListener("toggle", ({ target }) => {
	if (target.open && target.dataset.more) load(target).catch(tell);
}, true);
byId("leave").addEventListener("click", leave);
byId("not").addEventListener("click", () => byId("closing").close());
byId("really").addEventListener("click", () => {
	byId("closing").close();
	change("close");
});
document.addEventListener("visibilitychange", watch);

token.take();
if (token.get()) {
	say("Signing in …");
	watch();
} else enter(false);

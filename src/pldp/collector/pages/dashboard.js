/** The dashboard: asks for the overview every two seconds while somebody looks; if nothing changed, that is a few bytes. */
import { Refused, ask, token } from "./api.js";
import { missingCard, resultCard, sentence } from "./cards.js";
import { columns, fit } from "./charts.js";
import { byId, make } from "./dom.js";
import { brief, clock, hour, whole } from "./format.js";

const EVERY = 2000;
const LONGEST = 30_000;

const REASONS = {
	malformed: "not a report", wrong_schema: "of another format", wrong_survey: "of another survey", bad_id: "wrong id",
	no_answer: "without an answer", too_many_answers: "too many answers", unknown_question: "unknown question",
	repeated_question: "a question twice", unknown_level: "unknown level", wrong_type: "wrong type of output",
	wrong_length: "wrong length of output", out_of_range: "impossible output", conflict: "another report with the same id",
	withdrawn: "sent again after withdrawal", closed_round: "the round was closed", closed_survey: "after the closing date", over_budget: "over the person's budget",
};

let chosen = "";
let shown = null;
let tag = null;
let cards = [];
let shape = "";
let timer = 0;
let failures = 0;
let asking = null;

const round = () => shown.round;

const tell = (error) => {
	const place = byId("error");
	place.textContent = error instanceof Refused ? error.message : "The collector cannot be reached. Trying again …";
	place.hidden = false;
};

const row = (...cells) => make("tr", {}, ...cells);
const cell = (text, className = "") => make("td", { className }, text);

const tile = (name, number, note) => make("div", {}, make("dt", {}, name), make("dd", {}, number, make("span", { className: "muted small" }, note)));

const showHeadline = ({ reports, rejections, rounds, hours }) => {
	const here = rounds.find((each) => each.number === round());
	const refused = Object.values(rejections).reduce((sum, count) => sum + count, 0);
	const latest = hours.at(-1);
	byId("headline").replaceChildren(
		tile("Reports", whole(reports), `round ${here.number}, ${here.open ? "open" : "closed"}`),
		tile("This hour", latest ? whole(latest.stored) : "–", latest ? `since ${clock(latest.start)}` : ""),
		tile("Withdrawn", whole(here.withdrawn), "erased and not counted"),
		tile("Rejected", whole(refused), refused ? `${brief((100 * refused) / (refused + reports))} % of what came` : "of what came"));
};

/** Codes of notes that stand above all results. */
const ALARMS = new Set(["levels-disagree", "forged-reports"]);

const showDisagreements = (views) => {
	const items = views.flatMap((view, place) => (view.notes ?? []).filter(({ code }) => ALARMS.has(code)).map(({ text }) =>
		make("li", {}, make("a", { href: `#result-${place}` }, view.text || view.name), ` ${sentence(text)}`)));
	byId("disagreements").replaceChildren(...items);
	byId("disagree").hidden = items.length === 0;
};

/** How results change, what is missing from them, and whether there are any. */
const showSteps = ({ step, questions, damaged, preview }) => {
	const empty = step > 1 && questions.length === 0;
	byId("steps").textContent = step > 1 ? `Results change in steps of ${whole(step)} reports per level. Once anybody has withdrawn, ${whole(step)} of each level are left out.` : "";
	byId("empty").textContent = `Nothing to show yet: results begin with ${whole(step)} reports of one level.`;
	byId("empty").hidden = !empty;
	byId("damaged").textContent = `${whole(damaged)} ${damaged === 1 ? "report is" : "reports are"} damaged and left out; run pldp store check.`;
	byId("damaged").hidden = damaged === 0;
	byId("preview").hidden = !preview;
	return empty;
};

/** Cards are made anew only when something gets its first result, or loses its last. */
const showResults = (views, step, trends) => {
	const key = JSON.stringify(views.map(({ name, kind }) => [name, kind]));
	if (key !== shape) {
		cards = views.map((view, place) => (view.kind ? resultCard(view, place, round, tell) : missingCard(place)));
		byId("results").replaceChildren(...cards.map(({ card }) => card));
		shape = key;
	}
	views.forEach((view, place) => cards[place].fill(view, step, trends.find(({ name }) => name === view.name)));
};

const showHours = (hours) => {
	fit(byId("hours"), columns(hours, clock));
	byId("hour-rows").replaceChildren(...hours.toReversed().map(({ start, stored, rejected }) =>
		row(make("th", { scope: "row" }, hour(start)), cell(whole(stored), "number"), cell(whole(rejected), "number"))));
};

const showRejections = ({ rejections, few, step }) => {
	const counted = Object.entries(rejections).filter(([, count]) => count).sort(([, one], [, two]) => two - one);
	const told = [...counted.map(([reason, count]) => [reason, whole(count)]), ...few.map((reason) => [reason, `fewer than ${whole(step)}`])];
	byId("rejections").tBodies[0].replaceChildren(...told.map(([reason, count]) =>
		row(make("th", { scope: "row" }, REASONS[reason] ?? reason, " ", make("code", { className: "muted" }, reason)), cell(count, "number"))));
	byId("rejections").hidden = told.length === 0;
	byId("none-rejected").hidden = told.length > 0;
};

const showRounds = ({ rounds, scope }) => {
	byId("rounds").replaceChildren(...rounds.toReversed().map((each) =>
		row(make("th", { scope: "row" }, `Round ${each.number}`), cell(each.open ? "open" : "closed"), cell(whole(each.reports), "number"), cell(whole(each.withdrawn), "number"))));
	const select = byId("round");
	if (select.options.length !== rounds.length + 1) {
		select.replaceChildren(new Option("latest", ""), ...rounds.toReversed().map(({ number }) => new Option(number, number)));
		select.value = chosen;
	}
	const open = rounds.some((each) => each.open);
	byId("running").hidden = scope !== "admin";
	byId("close").disabled = !open;
	byId("open").disabled = open;
};

const show = (overview) => {
	const counting = !("questions" in overview);
	byId("counting").hidden = !counting;
	if (counting) {
		byId("counted").textContent = `Counting: ${whole(overview.counted)} of ${whole(overview.reports)} reports`;
		byId("progress").value = overview.counted / Math.max(1, overview.reports);
		return;
	}
	shown = overview;
	document.title = `${overview.title} – dashboard`;
	byId("title").textContent = overview.title;
	byId("collector").textContent = overview.collector || "Dashboard";
	byId("fresh").textContent = `As of ${new Date().toLocaleTimeString("en-GB")}`;
	byId("hash").textContent = overview.survey;
	const views = showSteps(overview) ? [] : [...overview.questions, ...overview.missing, ...overview.tables];
	showDisagreements(views);
	showHeadline(overview);
	showResults(views, overview.step, overview.trends);
	showHours(overview.hours);
	showRejections(overview);
	showRounds(overview);
};

const enter = (inside) => {
	byId("entering").hidden = inside;
	for (const id of ["board", "controls"]) byId(id).hidden = !inside;
};

const leave = () => {
	clearTimeout(timer);
	asking?.abort();
	token.forget();
	[shown, tag, cards, shape, chosen] = [null, null, [], "", ""];
	byId("results").replaceChildren();
	byId("round").replaceChildren();
	byId("status").textContent = "";
	enter(false);
	byId("token").focus();
};

/** Look once; say when to look again, or nothing if this is over. */
const look = async () => {
	asking?.abort();
	asking = new AbortController();
	const { signal } = asking;
	try {
		const answer = await ask(`overview${chosen && `?round=${chosen}`}`, { headers: tag ? { "if-none-match": tag } : {}, signal });
		if (answer.status === 200) {
			const overview = await answer.json();
			enter(true);
			show(overview);
			tag = answer.headers.get("etag");
		}
		if (failures) byId("status").textContent = "Connected again.";
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
		byId("status").textContent = `Round ${number} is ${open ? "open" : "closed"}.`;
		byId("error").hidden = true;
		setTimeout(watch, 1000);
	} catch (error) {
		tell(error);
	}
};

byId("entering").addEventListener("submit", (event) => {
	event.preventDefault();
	token.set(byId("token").value.trim());
	byId("token").value = "";
	byId("error").hidden = true;
	watch();
});
byId("round").addEventListener("change", ({ target }) => {
	[chosen, tag] = [target.value, null];
	byId("status").textContent = chosen ? `Showing round ${chosen}.` : "Showing the latest round.";
	watch();
});
byId("leave").addEventListener("click", leave);
byId("open").addEventListener("click", () => change("open"));
byId("close").addEventListener("click", () => byId("closing").showModal());
byId("not").addEventListener("click", () => byId("closing").close());
byId("really").addEventListener("click", () => {
	byId("closing").close();
	change("close");
});
document.addEventListener("visibilitychange", watch);

token.take();
if (token.get()) watch();
else enter(false);

/** One card per result. A card is made once and filled anew with every overview, so that what is open stays open. */
import { download } from "./api.js";
import { KINDS } from "./cards/registry.js";
import { overRounds } from "./cards/rounds.js";
import { head, title } from "./cards/rows.js";
import { make } from "./dom.js";
import { brief, whole } from "./format.js";

/** A level with less than a step of reports has no number. */
const count = (reports) => (reports === null ? "not yet" : whole(reports));

const byLevel = ({ groups }) =>
	groups.length ? `By level: ${groups.map(({ level, epsilon, reports }) => `${level} (ε ${brief(epsilon)}) ${count(reports)}`).join(", ")}.` : "";

const levels = (view, step) => {
	const counted = view.groups.map(({ level, epsilon, mechanism, reports }) =>
		make("tr", {}, make("th", { scope: "row" }, level), make("td", { className: "number" }, brief(epsilon)), make("td", {}, mechanism),
			make("td", { className: "number" }, count(reports))));
	if (!counted.length) {
		return [make("p", { className: "small" }, `Levels are hidden in reports. Estimated: ${view.levels.map(({ level, share }) => `${level} ${brief(100 * share)} %`).join(", ")}.`)];
	}
	const note = step > 1 ? [make("p", { className: "muted small" }, `Results count whole steps of ${whole(step)} reports per level; a level with fewer is not counted yet.`)] : [];
	return [make("table", { className: "levels" }, head(title("Level"), title("ε", "number"), title("Mechanism"), title("Reports", "number")), make("tbody", {}, ...counted)), ...note];
};

const files = ({ name }, round, tell) =>
	make("p", { className: "downloads small" }, "Download ", ...["csv", "json", "arrow"].map((format) => {
		const button = make("button", { type: "button", className: "plain" }, format === "arrow" ? "Arrow" : format.toUpperCase());
		button.setAttribute("aria-label", `Download ${name} as ${button.textContent}`);
		button.addEventListener("click", () =>
			download(`estimates/${encodeURIComponent(name)}.${format}?round=${round()}`, `${name}-round-${round()}.${format}`).catch(tell));
		return button;
	}));

const list = (className, texts) => make("ul", { className }, ...texts.map((text) => make("li", {}, text)));
const details = (summary, content) => make("details", {}, make("summary", {}, summary), content);

export const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/u.test(text) ? "" : "."}`;

const notes = (found) =>
	["warning", "info"].flatMap((severity) => {
		const texts = found.filter((note) => note.severity === severity).map(({ text }) => sentence(text));
		return texts.length ? [list(severity === "warning" ? "wrong" : "muted small", texts)] : [];
	});

/** A card and what fills it: `fill(view, step, trend)`, the last where there are several rounds. */
export const resultCard = (first, place, round, tell) => {
	const kind = KINDS[first.kind];
	const [facts, says, warnings, chart, below, rounds, table, assumed] = Array.from({ length: 8 }, () => make("div", {}));
	const name = make("h2", { id: `result-${place}`, tabIndex: -1 }, first.questions ? `${first.questions.join(" and ")} together` : first.text || first.name);
	const own = first.questions ? [] : [details("Levels", table), ...(kind.extra ? [kind.extra(first, round, tell)] : [])];
	const foot = make("div", { className: "foot" }, ...own, details("Assumptions", assumed), ...(first.questions ? [] : [files(first, round, tell)]));
	const card = make("section", { className: "card question" }, name, facts, warnings, says, chart, below, rounds, foot);
	card.setAttribute("aria-labelledby", name.id);
	const fill = (view, step, trend) => {
		const open = rounds.querySelector("details")?.open ?? false;
		rounds.replaceChildren(...(trend ? overRounds(trend, kind.label) : []));
		if (open && trend) rounds.querySelector("details").open = true;
		facts.replaceChildren(make("p", { className: "muted small" }, `${whole(view.reports)} ${view.reports === 1 ? "report" : "reports"} · ${kind.phrase} · ${view.method}`));
		says.replaceChildren(...view.conclusions.map((text) => make("p", {}, text)));
		warnings.replaceChildren(...notes(view.notes));
		chart.replaceChildren(...kind.chart(view));
		below.replaceChildren(make("p", { className: "muted small" }, kind.legend(view)), make("p", { className: "small" }, `${kind.forged(view)} ${byLevel(view)}`));
		table.replaceChildren(...levels(view, step));
		assumed.replaceChildren(list("small", view.assumptions.map(sentence)));
	};
	return { card, fill };
};

/** What has no result yet, and why. */
export const missingCard = (place) => {
	const [name, reason] = [make("h2", { id: `result-${place}`, tabIndex: -1 }), make("p", {})];
	const card = make("section", { className: "card question" }, name, reason);
	card.setAttribute("aria-labelledby", name.id);
	const fill = (missing) => {
		name.textContent = missing.text || missing.name;
		reason.textContent = sentence(missing.reason);
	};
	return { card, fill };
};

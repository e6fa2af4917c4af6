/** One card per question. A card is made once and filled anew with every overview, so that what is open stays open. */
import { ask, download } from "./api.js";
import { axis, curve, fit, interval, scaleOf } from "./charts.js";
import { make } from "./dom.js";
import { brief, whole, writer } from "./format.js";

const KINDS = { choice: "one answer", choices: "any number of answers", number: "a number" };

const PERCENT = " %";

const head = (...titles) => make("thead", {}, make("tr", {}, ...titles));
const title = (text, className = "") => make("th", { scope: "col", className }, text);

/** On a phone rows are laid out anew, which must not take the meaning of a table from them. */
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell", TH: "columnheader" };

const named = (table) => {
	for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, th, td")]) {
		part.setAttribute("role", part.scope === "row" ? "rowheader" : ROLES[part.tagName]);
	}
	return table;
};

/** A table whose rows are label, dot with interval, number, interval in words. */
const dots = (caption, rows, scale, tick, write, unit) =>
	named(make("table", { className: "dots" },
		make("caption", { className: "unseen" }, caption),
		head(title("Value"), make("th", { scope: "col", className: "chart" }, make("span", { className: "unseen" }, "Chart"), axis(scale, tick)), title("Estimate", "number"), title("95 % interval", "number reach")),
		make("tbody", {}, ...rows.map((row) =>
			make("tr", {},
				make("th", { scope: "row" }, row.label),
				make("td", { className: "chart" }, interval(scale, row)),
				make("td", { className: "number" }, write(row)(row.estimate), unit),
				make("td", { className: "number reach" }, `${write(row)(row.low)} to ${write(row)(row.high)}`, unit === PERCENT ? unit : ""))))));

const percentTick = (tick) => `${brief(100 * tick)} %`;

const shares = (view) => {
	const scale = scaleOf([0, ...view.rows.flatMap(({ estimate, low, high, consistent }) => [estimate, low, high, consistent])]);
	const best = Math.min(...view.rows.map((row) => row.standard_error ?? Infinity));
	const parts = [dots(`Shares of ${view.name}`, view.rows, scale, percentTick, () => writer(best, 0.01), PERCENT)];
	if (view.left_out) parts.push(make("p", { className: "muted small" }, `The largest of ${whole(view.rows.length + view.left_out)} values; downloads have all.`));
	return parts;
};

const NAMES = { mean: "Mean", "5 %": "5 % below", "25 %": "25 % below", "50 %": "Median", "75 %": "75 % below", "95 %": "95 % below" };

const numbers = (view) => {
	const holder = make("div", { className: "wide" });
	const rows = view.rows.map((row) => ({ ...row, label: NAMES[row.label] }));
	fit(holder, curve(view.density, rows[0], brief));
	const scale = scaleOf(rows.flatMap(({ estimate, low, high }) => [estimate, low, high]));
	return [holder, dots(`Mean and quantiles of ${view.name}`, rows, scale, brief, ({ low, high }) => writer((high - low) / 4), view.unit && ` ${view.unit}`)];
};

const legend = (view) => {
	if (view.kind === "number") return "The line is the fitted distribution, the band around it holds it with 95 % at each place; the upright line is the mean with its interval.";
	const bar = view.rows.some((row) => Number.isFinite(row.consistent)) ? " The bar is the nearest set of shares that could be true: none below 0, together 100 %." : "";
	return `The dot is the unbiased estimate, the line its 95 % interval; both may reach below 0.${bar}`;
};

const forged = (view) => {
	if (Number.isFinite(view.moves)) return `One forged report can move the mean by up to ${brief(view.moves)}${view.unit ? ` ${view.unit}` : ""}.`;
	return Number.isFinite(view.manipulation) ? `One forged report can count as ${brief(view.manipulation)} people.` : "";
};

const byLevel = ({ groups }) =>
	groups.length ? `By level: ${groups.map(({ level, epsilon, reports }) => `${level} (ε ${brief(epsilon)}) ${reports === null ? "hidden" : whole(reports)}`).join(", ")}.` : "";

const levels = (view, fewest) => {
	const counted = view.groups.map(({ level, epsilon, mechanism, reports }) =>
		make("tr", {}, make("th", { scope: "row" }, level), make("td", { className: "number" }, brief(epsilon)), make("td", {}, mechanism),
			make("td", { className: "number" }, reports === null ? "hidden" : whole(reports))));
	if (!counted.length) {
		return [make("p", { className: "small" }, `Levels are hidden in reports. Estimated: ${(view.levels ?? []).map(({ level, share }) => `${level} ${brief(100 * share)} %`).join(", ")}.`)];
	}
	const few = view.groups.some(({ reports }) => reports === null);
	const note = few ? [make("p", { className: "muted small" }, `Hidden: fewer than ${whole(fewest)} people, or their number would tell that of a smaller level.`)] : [];
	return [make("table", { className: "levels" }, head(title("Level"), title("ε", "number"), title("Mechanism"), title("Reports", "number")), make("tbody", {}, ...counted)), ...note];
};

/** Sets of items that many people have together: searched for when somebody asks. */
const sets = (view, round, tell) => {
	const found = make("div", {});
	const details = make("details", {}, make("summary", {}, "Frequent sets"), found);
	details.addEventListener("toggle", async () => {
		if (!details.open) return;
		try {
			const answer = await (await ask(`estimates/${encodeURIComponent(view.name)}.json?round=${round()}`)).json();
			const rows = answer.sets.filter(({ items }) => items.length > 1).map((row) => ({ ...row, label: row.items.join(" + ") }));
			const scale = scaleOf([0, ...rows.flatMap(({ low, high }) => [low, high])]);
			const none = make("p", { className: "muted" }, `No set of two or more has a support of ${brief(100 * answer.min_support)} % for sure.`);
			const table = () => dots("Frequent sets", rows, scale, percentTick, (row) => writer(row.standard_error, 0.01), PERCENT);
			found.replaceChildren(rows.length ? table() : none, make("p", { className: "muted small" }, `As of now: ${answer.promise}.`));
		} catch (error) {
			tell(error);
		}
	});
	return details;
};

const files = (view, round, tell) =>
	make("p", { className: "downloads small" }, "Download ", ...["csv", "json", "arrow"].map((kind) => {
		const button = make("button", { type: "button", className: "plain" }, kind === "arrow" ? "Arrow" : kind.toUpperCase());
		button.setAttribute("aria-label", `Download ${view.name} as ${button.textContent}`);
		button.addEventListener("click", () =>
			download(`estimates/${encodeURIComponent(view.name)}.${kind}?round=${round()}`, `${view.name}-round-${round()}.${kind}`).catch(tell));
		return button;
	}));

const list = (className, texts) => make("ul", { className }, ...texts.map((text) => make("li", {}, text)));
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/u.test(text) ? "" : "."}`;

export const questionCard = (first, place, round, tell) => {
	const [facts, warnings, chart, notes, table, assumed] = Array.from({ length: 6 }, () => make("div", {}));
	const name = make("h2", { id: `question-${place}`, tabIndex: -1 }, first.text || first.name);
	const details = (summary, content) => make("details", {}, make("summary", {}, summary), content);
	const foot = make("div", { className: "foot" }, details("Levels", table), ...(first.kind === "choices" ? [sets(first, round, tell)] : []), details("What must hold", assumed), files(first, round, tell));
	const card = make("section", { className: "card question" }, name, facts, warnings, chart, notes, foot);
	card.setAttribute("aria-labelledby", name.id);
	const fill = (view, fewest) => {
		const missing = "missing" in view;
		facts.replaceChildren(make("p", { className: "muted small" }, missing ? KINDS[view.kind] : `${whole(view.reports)} reports · ${KINDS[view.kind]} · ${view.method}`));
		foot.hidden = missing;
		if (missing) {
			for (const part of [warnings, notes]) part.replaceChildren();
			chart.replaceChildren(make("p", {}, sentence(view.missing)));
			return;
		}
		warnings.replaceChildren(...(view.notes.length ? [list("wrong", view.notes.map(({ text }) => sentence(text)))] : []));
		chart.replaceChildren(...(view.kind === "number" ? numbers(view) : shares(view)));
		notes.replaceChildren(make("p", { className: "muted small" }, legend(view)), make("p", { className: "small" }, `${forged(view)} ${byLevel(view)}`));
		table.replaceChildren(...levels(view, fewest));
		assumed.replaceChildren(list("small", view.assumptions.map(sentence)));
	};
	return { card, fill };
};

/** A two-way table; the darker a cell, the larger its share. */
export const tableCard = ({ questions, reports, notes = [], rows, missing }) => {
	const card = make("section", { className: "card" }, make("h2", {}, `${questions[0]} and ${questions[1]} together`));
	if (missing) {
		card.append(make("p", {}, sentence(missing)));
		return card;
	}
	const seconds = [...new Set(rows.map(({ label }) => label[1]))];
	const firsts = [...new Set(rows.map(({ label }) => label[0]))];
	const most = Math.max(...rows.map((row) => row.estimate));
	const cell = ({ estimate, low, high }) => {
		const write = writer((high - low) / 4, 0.01);
		const shade = Math.max(0, Math.min(5, Math.round((5 * estimate) / most)));
		return make("td", { className: `number shade${shade}` }, `${write(estimate)} %`, make("span", { className: "reach small" }, `${write(low)} to ${write(high)} %`));
	};
	const scroll = make("div", { className: "scroll", tabIndex: 0 },
		make("table", { className: "two-way" },
			make("caption", { className: "muted small" }, `${whole(reports)} reports that answer both; unbiased share of all people, with its 95 % interval`),
			head(title(questions[0]), ...seconds.map((text) => title(text, "number"))),
			make("tbody", {}, ...firsts.map((first) => make("tr", {}, make("th", { scope: "row" }, first), ...rows.filter(({ label }) => label[0] === first).map(cell))))));
	scroll.setAttribute("role", "region");
	scroll.setAttribute("aria-label", `${questions[0]} and ${questions[1]} together`);
	card.append(...(notes.length ? [list("wrong", notes.map(({ text }) => sentence(text)))] : []), scroll);
	return card;
};

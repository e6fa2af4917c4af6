/** A question over its rounds: the test of change in words, a small chart per label, and all numbers as a table. */
import { course, fit } from "../charts.js";
import { make } from "../dom.js";
import { brief, whole, writer } from "../format.js";
import { PERCENT, TOO_FEW, head, sayable, title } from "./rows.js";

const plain = (label) => (Array.isArray(label) ? label.join(" and ") : label);

const byLabel = (rows) => {
	const found = new Map();
	for (const row of rows) {
		const name = plain(row.label);
		found.set(name, [...(found.get(name) ?? []), row]);
	}
	return found;
};

const written = (row, unit) => {
	if (row.too_few) return TOO_FEW;
	const write = writer((row.high - row.low) / 4, unit);
	return `${write(row.estimate)} (${write(row.low)} to ${write(row.high)})`;
};

const numbers = (heads, rows, { label, unit }) =>
	make("table", { className: "rounds" },
		head(title("Value"), ...heads.map((text) => title(text, "number"))),
		make("tbody", {}, ...[...byLabel(rows)].map(([name, own]) =>
			make("tr", {}, make("th", { scope: "row" }, label(name)), ...own.map((row) => make("td", { className: "number" }, written(row, unit)))))));

const charts = (trend, names, { label, unit, tick }) =>
	make("div", { className: "courses" }, ...[...byLabel(trend.rows)].map(([name, points]) => {
		const holder = make("div", {});
		const known = sayable(points);
		if (known.length) fit(holder, course(known, names, tick));
		const latest = points.at(-1);
		const value = latest.too_few ? TOO_FEW : `${writer((latest.high - latest.low) / 4, unit)(latest.estimate)}${unit === 0.01 ? PERCENT : ` ${trend.unit}`}`;
		return make("figure", {}, make("figcaption", { className: "small" }, make("span", {}, label(name)), make("span", { className: "muted" }, value)), holder);
	}));

/** Elements that show a trend; `label` writes a label as the question's kind does. */
export const overRounds = (trend, label = (name) => name) => {
	const names = trend.rounds.map(({ name }) => name);
	const share = trend.unit === "share";
	const how = { label, unit: share ? 0.01 : 1, tick: share ? (tick) => `${brief(100 * tick)} %` : brief };
	const changes = trend.rounds.slice(1).map(({ name }, place) => `${names[place]} → ${name}`);
	const caption = (words, measure) => make("p", { className: "muted small" }, `${words}${measure && `, in ${measure}`}`);
	const more = trend.left_out ? ` The largest of ${whole(byLabel(trend.rows).size + trend.left_out)} values are shown.` : "";
	const tables = make("div", { className: "scroll", tabIndex: 0 },
		caption("Estimates", share ? "%" : trend.unit), numbers(names, trend.rows, how),
		caption("Change to the round before", share ? "percentage points" : trend.unit), numbers(changes, trend.changes, how));
	tables.setAttribute("role", "region");
	tables.setAttribute("aria-label", `${trend.name} over rounds`);
	return [
		make("h3", {}, "Over rounds"),
		make("p", {}, trend.says),
		charts(trend, names, how),
		make("p", { className: "muted small" }, `Lines are ${brief(100 * trend.confidence)} % intervals that hold for all values and rounds together.${more}`),
		make("details", {}, make("summary", {}, "Rounds as a table"), tables),
	];
};

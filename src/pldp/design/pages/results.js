/** What a survey reveals, costs and is worth, in words, tables and a picture for each level. */
import { byId, hundred, make } from "./dom.js";

const lines = (texts, className) => texts.map((text) => make("p", { className }, `${text[0].toUpperCase()}${text.slice(1)}.`));

const reveal = ({ level, epsilon, sure, proved, answers }) => {
	const share = parseFloat(sure);
	return make("div", { className: "reveal" },
		make("h3", {}, level),
		...proved.map(({ question, label, of_hundred: count }) =>
			make("p", { className: "warning" }, make("strong", {}, `An answer “${label}” to ${question} can be proved: ${count} of 100 reports of people who give it do.`))),
		hundred(Math.round(share)),
		make("p", {}, "Someone who thinks two sets of answers equally likely could become at most ",
			make("strong", {}, `${sure} sure`), ` of the right one from a whole report (ε = ${epsilon}, ${answers} ${answers === 1 ? "answer" : "answers"}).`));
};

const aboutLevel = ({ epsilon, cap, reports, signed }) => [
	`Reports hide the level; a report tells at most ε = ${epsilon} about it.`,
	reports === null ? "" : `A device sends ${reports} such ${reports === 1 ? "report" : "reports"} to one author before it stops at ε = ${cap} about the level.`,
	signed ? "" : "Sign the survey: over editions that are not signed, nothing is promised about the level.",
].filter(Boolean).join(" ");

const costWords = ({ dearest_report: dearest, total, asked, questions, repeat }, level, lottery) => [
	`The dearest report costs ε = ${dearest}${total === null ? "" : `; one person can spend ε = ${total} in all`}.`,
	asked < questions ? `Each person is asked ${asked} of ${questions} questions, picked at random.` : "",
	`Asked again: ${repeat}.`,
	level ? aboutLevel(level) : lottery ? `A lottery draws the level that devices use and show; for a stricter choice, all reports together tell at most ε = ${lottery}.` : "Reports show the chosen level.",
].filter(Boolean).join(" ");

export const showLook = ({ reveals, cost, warnings, remarks, level, lottery }) => {
	byId("warnings").replaceChildren(...lines(warnings, "warning"), ...lines(remarks, "muted small"));
	byId("reveals").replaceChildren(...reveals.map(reveal));
	byId("cost").textContent = costWords(cost, level, lottery);
};

const count = (number) => number.toLocaleString("en");

const table = (heads, rows) =>
	make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Expected errors" },
		make("table", {},
			make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
			make("tbody", {}, ...rows.map(([first, ...cells]) =>
				make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", {}, cell)))))));

const needed = (entry) => entry === null ? "–" : `${count(entry.plausible)} (at worst ${count(entry.worst)})`;

export const showPlan = ({ errors, better, no_plan: none }, apply) => {
	const rows = errors.map((each) => [each.question, count(each.answers), each.interval, each.worst, needed(each.people_needed)]);
	const heads = ["Question", "Answers", "Widest 95 % interval", "At the worst shares", "People for ± 2 pp (percentage points)"];
	const advice = errors.flatMap(({ question, advice: words }) => words.map((each) => `${question}: ${each}`));
	byId("errors").replaceChildren(...(none ? [make("p", { className: "muted" }, none)] : [table(heads, rows)]), ...lines(advice, "muted small"));
	const use = make("button", { type: "button", id: "use-better" }, "Use this design");
	use.addEventListener("click", () => apply(better.change));
	byId("better").replaceChildren(...(better ? [make("p", {}, better.words), ...(better.change ? [use] : [])] : []));
};

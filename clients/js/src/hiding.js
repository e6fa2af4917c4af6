/** Levels that reports do not show, and what they tell about them nevertheless: see pldp.mechanisms.leak. */
import { canonical, sha256 } from "./bytes.js";
import { epsilonText, largest, microOfPowers, TOTAL } from "./epsilon.js";
import { fail } from "./errors.js";
import { epsilonIn, odds } from "./explain.js";
import { HIDDEN } from "./hidden_words.js";
import { itemOdds } from "./limits.js";
import { loadMechanisms, MECHANISMS } from "./mechanisms/registry.js";
import { check, fields, microOf as read, namesOf, sumOfLargest, table } from "./reading.js";

/** Factors by which the output that speaks most for channel a against b changes the odds. */
const factors = ({ form, total }, pairs) =>
	form.bits
		? pairs.map(([one, two, power]) => largest([one, two, power], [total - one, total - two, power]))
		: [largest(...pairs.map(([one, two]) => [one, two, 1n]))];
const sameValue = (a, b) => a.levelOdds?.(b, true) ?? factors(a, [[a.truth, b.truth, 1n], [a.other, b.other, a.size - 1n]]);
const otherValue = (a, b) =>
	a.levelOdds?.(b, false) ?? factors(a, [[a.truth, b.other, 1n], [a.other, b.truth, 1n], [a.other, b.other, a.size - 2n]]);

const oddsOf = (a, b, same, limits) => (a.byItem ? itemOdds(a, b, same, limits) : same ? sameValue(a, b) : otherValue(a, b));

/** An output that is possible on one side only proves it. */
const microOf = (factors) => (factors.every(([, less]) => less) ? microOfPowers(factors) : Infinity);

/** Entries for each ordered pair of levels: what is told for the one (row) against the other (column). */
const pairsOf = (things, entry) => things.map((a, one) => things.map((b, two) => entry(a, b, one, two)));
const mostOf = (pairs) => Math.max(...pairs.flat());
const addPairs = (tables) => pairsOf(tables[0], (_, __, one, two) => tables.reduce((sum, pairs) => sum + pairs[one][two], 0));
const largestPairs = (tables, count) => pairsOf(tables[0], (_, __, one, two) => sumOfLargest(tables.map((pairs) => pairs[one][two]), count));

/** What an output tells for a level where the answer is known, and for a pair of answer and level. */
const evidenceOf = ({ levels, limits }) => {
	const channels = levels.map(({ channel }) => channel);
	const level = pairsOf(channels, (a, b) => (a === b ? 0 : microOf(oddsOf(a, b, true, limits))));
	const pair = pairsOf(channels, (a, b, one, two) => (one === two ? levels[one].charge : Math.max(level[one][two], microOf(oddsOf(a, b, false, limits)))));
	return { level, pair };
};

const channelsOf = ({ levels }) => levels.map(({ channel }) => channel);

export const hidingOf = async (entry, levels, questions, ask) => {
	const key = "hide_level";
	const options = ["leak_cap", "budgets"];
	const { epsilon, mechanism, weights, leak_cap, budgets } = fields(entry, key, ["epsilon", "mechanism", "weights"], options);
	check(levels.length > 1 && levels.every(({ micro }, place) => micro !== levels[place + 1]?.micro), key);
	const names = namesOf(levels);
	for (const question of questions) {
		check(canonical(namesOf(question.levels)) === canonical(names), key);
		const shape = ({ form, picked = "" }) => canonical([form, picked]);
		const alike = (channel, _, [first]) =>
			(channel.truth || channel.family || channel.levelOdds || channel.byItem) && channel.family === first.family && shape(channel) === shape(first);
		check(channelsOf(question).every(alike), key);
	}
	const evidence = new Map(questions.map((question) => [question, evidenceOf(question)]));
	const tablesOf = (asked, what) => asked.map((question) => evidence.get(question)[what]);
	const outputs = mostOf(largestPairs(tablesOf(questions, "level"), ask));
	const most = read(epsilon, key);
	check(outputs < Infinity && outputs + most <= read(leak_cap, key, TOTAL), key);
	const bounds = names.map((name) => (budgets === undefined ? most : read(table(budgets, key, names).get(name), key)));
	check(bounds.every((bound) => bound <= most), key);
	const takes = check(MECHANISMS.get(mechanism)?.[0], key);
	check(takes.endsWith("label") && (budgets === undefined || takes !== "label"), key);
	const channelOf = await loadMechanisms([mechanism]);
	const channel = channelOf(key, takes, mechanism, levels.length, weights, bounds);
	// A report has room for the name of one level.
	const named = (output) => names.every((_, level) => channel.supports(output, level) === (output === level));
	check(channel.form.integers === levels.length && names.every((_, output) => named(output)), key);
	const label = pairsOf(names, (_, __, one, two) => (one === two ? 0 : (channel.evidence ?? channel.promised)(one)));
	const withLabel = (newLabel, tables) => addPairs([...(newLabel ? [label] : []), ...tables]);
	const leak = mostOf(withLabel(true, [largestPairs(tablesOf(questions, "level"), ask)]));
	// What a device knows this choice of levels by.
	const levelSet = await sha256(canonical([levels.map(({ name, micro }) => [name, micro]), [mechanism, weights]]));
	/** What is told about the level before and after a report with these answers, and what that costs: ε of the whole report. */
	const told = ({ labels, level_cap: cap }, author, asked, newLabel) => {
		const sent = labels.find((each) => each.author === author && each.levels === levelSet);
		const isNew = newLabel || !sent;
		const pairs = withLabel(isNew, [...(sent ? [sent.told] : []), ...tablesOf(asked, "level")]);
		const costs = asked.length ? withLabel(isNew, tablesOf(asked, "pair")) : [[0]];
		const [before, after] = [sent ? mostOf(sent.told) : 0, mostOf(pairs)];
		return { before, after, cap, hasLabel: Boolean(sent), label: isNew ? null : sent.label, pairs, costs, cost: mostOf(costs) };
	};
	return {
		channel,
		told,
		/** Refuse what tells too much. Nothing here depends on the level, so that neither a refusal nor the price tells it. */
		allow: (known, author, asked, places, newLabel) => {
			if (new Set(places).size > 1)
				fail("AnswerError", "all answers of a report must have one level where levels are hidden: two labels show it");
			const { after, cap, label: kept, pairs, cost } = told(known, author, asked, newLabel);
			if (after > cap)
				fail("BudgetError", `this report would bring what is told about your level to epsilon ${epsilonText(after)}, and the cap on that is ${epsilonText(cap)}`);
			const others = known.labels.filter((each) => each.author !== author || each.levels !== levelSet);
			return { cost, label: kept, keep: (sent) => [...others, { author, levels: levelSet, label: sent, told: pairs }] };
		},
		/** What a question costs in the first round and in further ones. */
		explainRounds: (question, words) => {
			const [first, later] = [true, false].map((isNew) => epsilonIn(words, mostOf(withLabel(isNew, [evidence.get(question).pair]))));
			return words.say("repeat.hidden", { first, later }, HIDDEN);
		},
		explain: (question, words) => {
			const together = words.say(ask === 1 ? "hidden.one" : "hidden.all", { count: ask, odds: odds(words, leak) }, HIDDEN);
			return `${together}\n${words.say("hidden.pairs", { odds: odds(words, mostOf(withLabel(true, [evidence.get(question).pair]))) }, HIDDEN)}`;
		},
		explainCap: ({ level_cap }, signer, words) => [
			words.say(signer ? "label.kept" : "label.unsigned", {}, HIDDEN),
			words.say("label.cap", { cap: epsilonIn(words, level_cap) }, HIDDEN),
		],
	};
};

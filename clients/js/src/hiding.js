/** Levels that reports do not show, and what they tell about them nevertheless: see pldp.mechanisms.leak. */
import { canonical } from "./bytes.js";
import { largest, microOfPowers, TOTAL } from "./epsilon.js";
import { odds } from "./explain.js";
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

/** An output that is possible on one side only proves it. */
const microOf = (factors) => (factors.every(([, less]) => less) ? microOfPowers(factors) : Infinity);
const most = (channels, between) =>
	Math.max(...channels.flatMap((a) => channels.map((b) => (a === b ? 0 : microOf(between(a, b))))));
const levelLeak = (channels) => most(channels, sameValue);
const ownEpsilon = (channel) =>
	channel.whole?.() ?? (channel.levelOdds ? microOf(channel.levelOdds(channel, false)) : channel.promised());
const jointEpsilon = (channels, label) =>
	Math.max(...channels.map(ownEpsilon), label + Math.max(levelLeak(channels), most(channels, otherValue)));

/** Label and answer together: what they tell about the pair of answer and level. */
const aboutPairs = (words, micro) =>
	micro === Infinity ? words.say("hidden.proves") : words.say("hidden.pairs", { odds: odds(words, micro) });

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
			(channel.truth || channel.family || channel.levelOdds) && channel.family === first.family && shape(channel) === shape(first);
		check(channelsOf(question).every(alike), key);
	}
	const outputs = sumOfLargest(questions.map((question) => levelLeak(channelsOf(question))), ask);
	const label = read(epsilon, key);
	check(outputs < Infinity && outputs + label <= read(leak_cap, key, TOTAL), key);
	const bounds = names.map((name) => (budgets === undefined ? label : read(table(budgets, key, names).get(name), key)));
	check(bounds.every((bound) => bound <= label), key);
	const takes = check(MECHANISMS.get(mechanism)?.[0], key);
	check(takes.endsWith("label") && (budgets === undefined || takes !== "label"), key);
	const channelOf = await loadMechanisms([mechanism]);
	const channel = channelOf(key, takes, mechanism, levels.length, weights, bounds);
	// A report has room for the name of one level.
	const named = (output) => names.every((_, level) => channel.supports(output, level) === (output === level));
	check(channel.form.integers === levels.length && names.every((_, output) => named(output)), key);
	const told = Math.max(...names.map((_, level) => channel.promised(level)));
	return {
		channel,
		explain: (question, words) => {
			const together = words.say(ask === 1 ? "hidden.one" : "hidden.all", { count: ask, odds: odds(words, told + outputs) });
			return `${together}\n${aboutPairs(words, jointEpsilon(channelsOf(question), told))}`;
		},
	};
};

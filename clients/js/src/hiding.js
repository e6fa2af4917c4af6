/** Levels that reports do not show, and what they tell about them nevertheless: see pldp.mechanisms.leak. */
import { canonical } from "./bytes.js";
import { largest, microOfPowers, TOTAL } from "./epsilon.js";
import { odds } from "./explain.js";
import { FOR_LEVELS, loadMechanisms } from "./mechanisms/registry.js";
import { check, fields, microOf as read, namesOf, sumOfLargest } from "./reading.js";

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
const jointEpsilon = (channels, label) =>
	Math.max(...channels.map((each) => (each.whole ?? each.promised)()), label + Math.max(levelLeak(channels), most(channels, otherValue)));

const channelsOf = ({ levels }) => levels.map(({ channel }) => channel);

export const hidingOf = async (entry, levels, questions, ask) => {
	const key = "hide_level";
	const { epsilon, mechanism, weights, leak_cap } = fields(entry, key, ["epsilon", "mechanism", "weights"], ["leak_cap"]);
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
	check(mechanism === FOR_LEVELS && outputs < Infinity && outputs + label <= read(leak_cap, key, TOTAL), key);
	const channelOf = await loadMechanisms([mechanism]);
	const channel = channelOf(key, "label", mechanism, levels.length, weights, [label]);
	const answers = ask === 1 ? "this answer" : `all ${ask} answers at one level`;
	return {
		channel,
		explain: (question) => {
			const joint = jointEpsilon(channelsOf(question), channel.promised());
			return (
				`Your level is hidden: label and ${answers} together change the odds between any two levels at most ` +
				`${odds(channel.promised() + outputs)};\nlabel and this answer, between any two pairs of answer and level, ` +
				(joint < Infinity ? `at most ${odds(joint)}.` : "without limit, as some labels are not protected.")
			);
		},
	};
};

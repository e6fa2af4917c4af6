import { epsilonText } from "./epsilon.js";
import { FRESH, ONCE, pricesOf } from "./repeat.js";
import { english, SHUFFLE } from "./words.js";

/** Python's format ".{digits}g". */
const significant = (number, digits) => {
	const [mantissa, power] = number.toExponential(digits - 1).split("e");
	if (power >= -4 && power < digits) return String(Number(number.toPrecision(digits)));
	return `${Number(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
};

export const ofHundred = (chance) => {
	const people = 100 * chance;
	if (people < 1 || people > 99) return significant(people, people < 1 ? 2 : 4);
	return people % 1 === 0.5 ? 2 * Math.round(people / 2) : Math.round(people);
};

export const epsilonIn = ({ number }, micro) => number(epsilonText(micro));
export const times = (words, micro) =>
	words.say("times", { number: micro < 7e8 ? words.number(significant(Math.exp(micro / 1e6), 3)) : `e^${epsilonIn(words, micro)}` });
export const odds = (words, micro) => words.say("odds", { times: times(words, micro), epsilon: epsilonIn(words, micro) });

const aboutRepeats = (words, repeat, question, level, hiding) => {
	if (repeat === ONCE) return words.say("repeat.once");
	if (hiding?.explainRounds) return hiding.explainRounds(question, words);
	const [report, permanent, instant] = pricesOf(repeat, level).map(([, micro]) => epsilonIn(words, micro));
	if (repeat === FRESH) return words.say("repeat.fresh", { epsilon: report });
	return words.say("repeat.tracked", { report, permanent, instant });
};

/** Lines about a level of a question; the first one names both. */
export const explainLevel = ({ hiding, repeat }, question, level, words) =>
	[
		words.say("level", { level: level.name, question: question.name }),
		...question.explain(level, words),
		hiding?.explain(question, words) ?? words.say("level.shown"),
		aboutRepeats(words, repeat, question, level, hiding),
	].join("\n");

/** Who mixes reports before anybody else sees them, and what that is worth: a promise that no device can check. */
export const explainShuffle = ({ by, people }, words = english) =>
	words.say("shuffle", { by, others: words.number((people - 1).toLocaleString("en")) }, SHUFFLE);

/** One label, each with a budget of its own. */
import { odds } from "../explain.js";
import { firstLines } from "./lists.js";

export { read } from "./choice.js";
export { boundsOf, keys, options } from "./lists.js";

export const takes = "budgeted label";

/** The largest budget of a label that has one. */
export const chargeOf = (bounds) => bounds.reduce((most, micro) => (micro < Infinity ? Math.max(most, micro) : most), 0);

const LISTED = 4;

const listed = (question, labels, words) => {
	const named = labels.slice(0, LISTED).map((label) => words.quoted(question, label)).join(", ");
	return labels.length <= LISTED ? named : words.say("labels.others", { labels: named, count: labels.length - LISTED });
};

const reportPromise = (question, { evidence, rulesOut }, output, words) => {
	const { values } = question;
	const label = words.quoted(question, values[output]);
	const excluded = values.filter((_, value) => value !== output && rulesOut(output, value));
	if (excluded.length === values.length - 1) return words.say("report.proves", { label });
	if (excluded.length) return words.say("report.rules out", { label, labels: listed(question, excluded, words) });
	return words.say("report.changes", { label, odds: odds(words, evidence(output)) });
};

const valuePromise = (question, { evidence, promised, pair, worst = promised }, value, words) => {
	const { values } = question;
	const [label, own, most] = [words.quoted(question, values[value]), evidence(value), worst(value)];
	const labels = () => listed(question, values.filter((_, other) => other !== value && pair(value, other) === most), words);
	if (own === Infinity) return words.say("value.proved", { label, labels: labels() });
	if (own === most) return words.say("value.alike", { label, odds: odds(words, own) });
	const against = { label, odds: odds(words, own), labels: labels() };
	return most === Infinity ? words.say("value.ruled out", against) : words.say("value.denied", { ...against, most: odds(words, most) });
};

export const explain = (question, { channel }, words) => {
	const promise = channel.rulesOut ? reportPromise : valuePromise;
	return firstLines(question, (value) => promise(question, channel, value, words), "labels.more", words);
};

/** One label, each with a budget of its own. */
import { odds } from "../explain.js";
import { firstLines } from "./lists.js";

export { read } from "./choice.js";
export { boundsOf, keys, options } from "./lists.js";

export const takes = "budgeted label";

const LISTED = 4;

const listed = (labels) => {
	const named = labels.slice(0, LISTED).map((label) => `"${label}"`).join(", ");
	return labels.length <= LISTED ? named : `${named} and ${labels.length - LISTED} others`;
};

const reportPromise = (values, { evidence, rulesOut }, output) => {
	const label = `"${values[output]}"`;
	const excluded = values.filter((_, value) => value !== output && rulesOut(output, value));
	if (excluded.length === values.length - 1) return `A report ${label} proves the value ${label} (ε infinite).`;
	if (excluded.length) return `A report ${label} rules out ${listed(excluded)} (ε infinite).`;
	const changes = `changes the odds between any two values at most ${odds(evidence(output))}`;
	return `A report ${label} ${changes}; ${label} gains on all others.`;
};

const valuePromise = (values, { evidence, promised, pair, worst = promised }, value) => {
	const [label, own, most] = [`"${values[value]}"`, evidence(value), worst(value)];
	const others = () => listed(values.filter((_, other) => other !== value && pair(value, other) === most));
	if (own === Infinity) return `A report can prove ${label} against another value (ε infinite): ${others()}.`;
	const limit = `by more than ${odds(own)}`;
	if (own === most) return `No report changes the odds between ${label} and another value ${limit}.`;
	const denied = most === Infinity ? "one can rule it out (ε infinite)" : `one can speak up to ${odds(most)}`;
	return `No report speaks for ${label} against another value ${limit}; against ${label}, ${denied}: ${others()}.`;
};

export const explain = ({ values }, { channel }) => {
	const promise = channel.rulesOut ? reportPromise : valuePromise;
	return firstLines(values, (value) => promise(values, channel, value), "more answers");
};

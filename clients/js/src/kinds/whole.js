/** Any number of labels, one budget for the whole set of them. */
import { odds } from "../explain.js";
import { check } from "../reading.js";
import { read as readSet, tickedOf } from "./choices.js";

export const [takes, keys, options] = ["set", ["values", "budget"], ["at_most"]];

export const read = (file, key) => {
	check(file.budget === "set", `${key}.budget`);
	return { ...readSet(file, key), whole: true };
};

/** Its ε is compared as a whole. */
export const boundsOf = () => [];

/** They are not tracked. */
export const fits = ({ whole, largestSet }, { atMost }, micro, stages) => !stages && whole() <= micro && largestSet >= atMost;

/** One budget, however many labels. */
export const explain = ({ values: [first] }, { channel: { preface, chances, whole } }) =>
	[
		preface,
		`${tickedOf(first, chances(0))}, and so for every box.`,
		`Whatever your report says, it changes the odds between any two sets of boxes at most ${odds(whole())}.`,
	].filter(Boolean);

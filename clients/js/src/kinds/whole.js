/** Any number of labels, one budget for the whole set of them. */
import { odds } from "../explain.js";
import { check } from "../reading.js";
import { read as readSet, tickedOf } from "./choices.js";

export const [takes, keys, options] = ["set", ["values", "budget"], ["at_most", "exclusive", "option_order"]];

export const read = (file, key) => {
	check(file.budget === "set", `${key}.budget`);
	return { ...readSet(file, key), whole: true };
};

/** Its ε is compared as a whole. */
export const boundsOf = () => [];

/** They are not tracked. */
export const fits = ({ whole, largestSet }, { atMost }, micro, stages) => !stages && whole() <= micro && largestSet >= atMost;

/** One budget, however many labels. */
export const explain = (question, { channel: { preface, chances, whole } }, words) =>
	[
		preface && words.say(...preface),
		words.say("box.every", { box: tickedOf(question, 0, chances(0), words) }),
		words.say("boxes.odds", { odds: odds(words, whole()) }),
	].filter(Boolean);

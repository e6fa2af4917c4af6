/** One label, all labels protected alike. */
import { odds, ofHundred } from "../explain.js";
import { labelsOf } from "../reading.js";

export const takes = "label";

export const [keys, options] = [["values"], ["option_order"]];

export const read = (file, key) => {
	const labels = labelsOf(file, key);
	return { ...labels, rule: `one of the ${labels.size} labels`, encode: (label) => labels.places.get(label) };
};

export const explain = (question, { micro, channel }, words) => {
	const [truth, other] = channel.chances().map((chance) => words.number(ofHundred(chance)));
	const label = words.quoted(question, question.values[0]);
	return [
		words.say("choice.true", { label, truth, says: words.say(`says.${channel.says}`, { label }) }),
		words.say("choice.other", { other }),
		words.say("choice.odds", { odds: odds(words, micro) }),
	];
};

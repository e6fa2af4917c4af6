/** One label, all labels protected alike. */
import { odds, ofHundred } from "../explain.js";
import { labelsOf } from "../reading.js";

export const takes = "label";

export const [keys, options] = [["values"], []];

export const read = (file, key) => {
	const labels = labelsOf(file, key);
	return { ...labels, rule: `one of the ${labels.size} labels`, encode: (label) => labels.places.get(label) };
};

export const explain = ({ values: [first] }, { micro, channel }) => {
	const [label, [truth, other]] = [`"${first}"`, channel.chances().map(ofHundred)];
	return [
		`of 100 people whose answer is ${label}, about ${truth} send a report that ${channel.says(label)};`,
		`of 100 people whose answer is something else, about ${other} do.`,
		`Whatever your report says, it changes the odds between any two answers at most ${odds(micro)}.`,
	];
};

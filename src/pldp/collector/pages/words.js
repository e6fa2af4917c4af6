/** What a report says, in words. */
const MOST_LABELS = 8;

const bytesOf = (hex) => hex.match(/../g).map((pair) => parseInt(pair, 16));
const quoted = (label) => `“${label}”`;

const listed = (labels) => {
	const shown = labels.slice(0, MOST_LABELS).map(quoted).join(", ");
	return labels.length > MOST_LABELS ? `${shown} and ${labels.length - MOST_LABELS} more` : shown;
};

const ticked = (values, output) => {
	const bytes = bytesOf(output);
	const labels = values.filter((_, place) => (bytes[place >> 3] >> (place & 7)) & 1);
	return labels.length ? `ticks ${listed(labels)}` : "ticks nothing";
};

/** The answers whose group under the report's hash function is the one that it names. */
const grouped = (values, output, buckets) => {
	const [index, bucket] = [Math.floor(output / buckets), output % buckets];
	const groupOf = (value) => {
		let sum = 0;
		for (let one = index, two = value; one && two; one = Math.floor(one / buckets), two = Math.floor(two / buckets)) {
			sum += (one % buckets) * (two % buckets);
		}
		return sum % buckets;
	};
	return `names a group of answers: ${listed(values.filter((_, place) => groupOf(place) === bucket))}`;
};

const says = ({ values, channels, levelOf }, { level, output }) => {
	if (typeof output === "string") return ticked(values, output);
	const buckets = channels[levelOf(level)].weights.get("buckets");
	return buckets ? grouped(values, output, buckets) : `says ${quoted(values[output])}`;
};

export const answerInWords = (survey, answer) => {
	const question = survey.question(answer.question);
	return `${question.text || question.name} The report ${says(question, answer)}, at level ${quoted(answer.level)}.`;
};

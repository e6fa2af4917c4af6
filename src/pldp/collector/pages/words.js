/** What a report says, in words. Questions are as the survey file spells them out. */
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

const round = (number) => Number(number.toPrecision(6));

/** The numbers that an output speaks for: a window of the grid (one step wide for Laplace), or one of its ends. */
const numbers = ({ low, high, buckets, unit }, { width = 0, peak }, output) => {
	const wide = peak ? 1 : width;
	const windows = wide && buckets + wide - 1;
	if (output >= windows) return `speaks for ${output > windows ? "larger" : "smaller"} numbers`;
	const edge = (place) => round(Number(low) + (place * (high - low)) / buckets);
	const [from, to] = [edge(Math.max(output - wide + 1, 0)), edge(Math.min(output + 1, buckets))];
	return `speaks for numbers from ${from} to ${to}${unit ? ` ${unit}` : ""}`;
};

const says = (question, { level, output }) => {
	const { kind, values, weights } = question;
	if (kind === "number") return numbers(question, weights[level], output);
	if (typeof output === "string") return ticked(values, output);
	const { buckets } = weights[level];
	return buckets ? grouped(values, output, buckets) : `says ${quoted(values[output])}`;
};

export const answerInWords = (question, answer) =>
	`${question.text || question.name} The report ${says(question, answer)}, at level ${quoted(answer.level)}.`;

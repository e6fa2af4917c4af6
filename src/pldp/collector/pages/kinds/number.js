import { make } from "../dom.js";
import { number, t, unitOf } from "../words.js";

export const fields = (id, question) => {
	const { low, high, outside, required } = question;
	const field = make("input", { type: "number", id, step: "any", inputMode: "decimal", required });
	if (outside !== "clip") Object.assign(field, { min: low, max: high });
	const unit = unitOf(question) && t("answer.unit", { unit: unitOf(question) });
	const label = t(required ? "answer.number required" : "answer.number", { low: number(low), high: number(high), unit });
	return [[make("label", { htmlFor: id }, label), field], () => (field.value ? Number(field.value) : undefined)];
};

/** The values that an output speaks for, from and up to but without: a window, so many steps wide, or an interval. */
const spanOf = ({ width, speaks }, buckets, output) =>
	speaks?.(output) ?? [Math.max(output - width + 1, 0), Math.min(output + 1, buckets)];

/** The numbers that an output speaks for: some steps or points of the grid, or those towards one of its ends. */
export const says = (question, channel, output) => {
	const { low, high, buckets, purpose } = question;
	const windows = channel.width && buckets + channel.width - 1;
	if (!channel.speaks && output >= windows) return t(output > windows ? "report.larger" : "report.smaller");
	const [first, end] = spanOf(channel, buckets, output);
	// Points reach from bound to bound, steps lie between their edges.
	const [steps, last] = purpose ? [buckets - 1, end - 1] : [buckets, end];
	const step = (high - low) / steps;
	const decimals = Math.max(0, -Math.floor(Math.log10(step))); // as many as tell two neighbours apart
	const [from, to] = [first, last].map((place) => number(Number((Number(low) + place * step).toFixed(decimals))));
	return t(from === to ? "report.near" : "report.from to", { from, to, unit: unitOf(question) && ` ${unitOf(question)}` });
};

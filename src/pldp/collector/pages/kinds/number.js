import { make } from "../dom.js";

export const protects = () => "an answer";

export const fields = (id, { low, high, unit, outside }) => {
	const field = make("input", { type: "number", id, step: "any", inputMode: "decimal" });
	if (outside !== "clip") Object.assign(field, { min: low, max: high });
	const label = `A number from ${low} to ${high}${unit && ` (${unit})`}; leave it empty to skip this question`;
	return [[make("label", { htmlFor: id }, label), field], () => (field.value ? Number(field.value) : undefined)];
};

/** The values that an output speaks for, from and up to but without: a window, so many steps wide, or an interval. */
const spanOf = ({ width, speaks }, buckets, output) =>
	speaks?.(output) ?? [Math.max(output - width + 1, 0), Math.min(output + 1, buckets)];

/** The numbers that an output speaks for: some steps or points of the grid, or those towards one of its ends. */
export const says = ({ low, high, buckets, unit, purpose }, channel, output) => {
	const windows = channel.width && buckets + channel.width - 1;
	if (!channel.speaks && output >= windows) return `speaks for ${output > windows ? "larger" : "smaller"} numbers`;
	const [first, end] = spanOf(channel, buckets, output);
	// Points reach from bound to bound, steps lie between their edges.
	const [steps, last] = purpose ? [buckets - 1, end - 1] : [buckets, end];
	const [from, to] = [first, last].map((place) => Number((Number(low) + (place * (high - low)) / steps).toPrecision(6)));
	return `speaks for numbers ${from === to ? `near ${from}` : `from ${from} to ${to}`}${unit && ` ${unit}`}`;
};

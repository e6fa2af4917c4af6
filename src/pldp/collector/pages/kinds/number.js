import { make } from "../dom.js";

export const protects = () => "an answer";

export const fields = (id, { low, high, unit, outside }) => {
	const field = make("input", { type: "number", id, step: "any", inputMode: "decimal" });
	if (outside !== "clip") Object.assign(field, { min: low, max: high });
	const label = `A number from ${low} to ${high}${unit && ` (${unit})`}; leave it empty to skip this question`;
	return [[make("label", { htmlFor: id }, label), field], () => (field.value ? Number(field.value) : undefined)];
};

/** The numbers that an output speaks for: a window of the grid, so many steps wide, or one of its ends. */
export const says = ({ low, high, buckets, unit }, { width }, output) => {
	const windows = width && buckets + width - 1;
	if (output >= windows) return `speaks for ${output > windows ? "larger" : "smaller"} numbers`;
	const edge = (place) => Number((Number(low) + (place * (high - low)) / buckets).toPrecision(6));
	const [from, to] = [edge(Math.max(output - width + 1, 0)), edge(Math.min(output + 1, buckets))];
	return `speaks for numbers from ${from} to ${to}${unit && ` ${unit}`}`;
};

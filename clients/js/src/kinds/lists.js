/** What kinds with a budget for each label have in common. */
import { check, microOf, table } from "../reading.js";

const MOST_LINES = 8;

export const [keys, options] = [["values"], ["budgets"]];

/** The budget of each label at a level; without any, that of the level. */
export const boundsOf = ({ budgets, levels, values }, level, micro, key) => {
	if (budgets === undefined) return values.map(() => micro);
	const entry = table(budgets, key, [...levels.keys()]).get(level);
	check(Array.isArray(entry) && entry.length === values.length, key);
	const bounds = entry.map((text) => (text === "infinite" ? Infinity : microOf(text, key)));
	check(bounds.every((bound) => bound <= micro || bound === Infinity), key);
	return bounds;
};

export const firstLines = (labels, say, what) => {
	const rest = labels.length - MOST_LINES;
	const lines = labels.slice(0, MOST_LINES).map((_, place) => say(place));
	return rest > 0 ? [...lines, `(${rest} ${what} are protected in the same way.)`] : lines;
};

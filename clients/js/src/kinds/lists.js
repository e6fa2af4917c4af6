/** What kinds with a budget for each label have in common. */
import { check, microOf, table } from "../reading.js";

const MOST_LINES = 8;

export const [keys, options] = [["values"], ["budgets", "option_order"]];

/** The budget of each label at a level; without any, that of the level. */
export const boundsOf = ({ budgets, levels, values }, level, micro, key) => {
	if (budgets === undefined) return values.map(() => micro);
	const entry = table(budgets, key, [...levels.keys()]).get(level);
	check(Array.isArray(entry) && entry.length === values.length, key);
	const bounds = entry.map((text) => (text === "infinite" ? Infinity : microOf(text, key)));
	check(bounds.every((bound) => bound <= micro || bound === Infinity), key);
	return bounds;
};

export const firstLines = ({ values }, say, more, words) => {
	const rest = values.length - MOST_LINES;
	const lines = values.slice(0, MOST_LINES).map((_, place) => say(place));
	return rest > 0 ? [...lines, words.say(more, { count: rest })] : lines;
};

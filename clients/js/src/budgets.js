/** One label, each with a budget of its own. */
import { BIT_TOTAL, drawBy, oneHot, TOTAL, windowed } from "./draws.js";
import { microOfRatio } from "./epsilon.js";
import { odds } from "./explain.js";
import { firstLines } from "./lists.js";

export { read } from "./choice.js";
export { boundsOf, keys, lists, options } from "./lists.js";

const LISTED = 4;

/** The largest ratio that is not the value's own. */
const largestBut = (ratios) => {
	const order = [...ratios.keys()].sort((i, j) => Number(ratios[j][0] * ratios[i][1] - ratios[i][0] * ratios[j][1]));
	return (value) => ratios[order[Number(order[0] === value)]];
};

/** Where a report speaks for one value against another by at most the gain of the one times the loss of the other. */
const separable = (gains, losses) => {
	const [gainOfOthers, lossOfOthers] = [gains, losses].map(largestBut);
	const told = (gain, loss) => microOfRatio(gain[0] * loss[0], gain[1] * loss[1]);
	const evidence = (value) => told(gains[value], lossOfOthers(value));
	return {
		evidence,
		promised: (value) => Math.max(evidence(value), told(gainOfOthers(value), losses[value])),
		pair: (one, two) => Math.max(told(gains[one], losses[two]), told(gains[two], losses[one])),
	};
};

const itemResponse = (sure, _, other) => {
	const kept = other.reduce((left, weight) => left - weight, TOTAL);
	sure(kept > 0n && kept < TOTAL && other.every((weight) => weight >= 0n));
	let end = kept;
	const ends = other.map((weight) => (end += weight));
	const evidence = (value) => microOfRatio(kept + other[value], other[value]);
	const draw = drawBy((value, number) => {
		const drawn = BigInt(ends.filter((each) => each <= number).length);
		return [drawn, value][Number(number < kept)];
	});
	return { evidence, promised: evidence, rulesOut: (output) => !other[output], draw };
};

const valueResponse = (sure, size, other) => {
	sure(other.some((weight) => weight) && other.every((weight) => weight >= 0n && weight * size < TOTAL));
	const truth = other.map((weight) => TOTAL - (size - 1n) * weight);
	const draw = drawBy((value, number) => windowed(1n, truth[value], other[value] || 1n)(value, number));
	const told = separable(truth.map((weight) => [weight, 1n]), other.map((weight) => [1n, weight]));
	return { ...told, rulesOut: (_, value) => !other[value], draw };
};

const itemUnary = (sure, size, truth, other) => {
	sure(truth.every((weight, place) => other[place] > 0n && other[place] < weight && weight < BIT_TOTAL));
	const gains = truth.map((weight, place) => [weight, other[place]]);
	const losses = gains.map(([weight, rest]) => [BIT_TOTAL - rest, BIT_TOTAL - weight]);
	const draw = oneHot(Number(size), (place) => truth[place], (place) => Number(other[place]));
	return { ...separable(gains, losses), draw };
};

export const mechanisms = new Map([
	["iprr", [itemResponse, "other"]],
	["idue", [itemUnary, "truth", "other"]],
	["aprr", [valueResponse, "other"]],
	["prr", [valueResponse, "other"]],
]);

const listed = (labels) => {
	const named = labels.slice(0, LISTED).map((label) => `"${label}"`).join(", ");
	return labels.length <= LISTED ? named : `${named} and ${labels.length - LISTED} others`;
};

const reportPromise = (values, { evidence, rulesOut }, output) => {
	const label = `"${values[output]}"`;
	const excluded = values.filter((_, value) => value !== output && rulesOut(output, value));
	if (excluded.length === values.length - 1) return `A report ${label} proves the value ${label} (ε infinite).`;
	if (excluded.length) return `A report ${label} rules out ${listed(excluded)} (ε infinite).`;
	const changes = `changes the odds between any two values at most ${odds(evidence(output))}`;
	return `A report ${label} ${changes}; ${label} gains on all others.`;
};

const valuePromise = (values, { evidence, promised, pair }, value) => {
	const [label, worst] = [`"${values[value]}"`, promised(value)];
	const limit = `by more than ${odds(evidence(value))}`;
	if (evidence(value) === worst) return `No report changes the odds between ${label} and another value ${limit}.`;
	const others = listed(values.filter((_, other) => other !== value && pair(value, other) === worst));
	return (
		`No report speaks for ${label} against another value ${limit}; ` +
		`against ${label}, one can speak up to ${odds(worst)}: ${others}.`
	);
};

export const explain = ({ values }, { channel }) => {
	const promise = channel.rulesOut ? reportPromise : valuePromise;
	return firstLines(values, (value) => promise(values, channel, value), "answers");
};

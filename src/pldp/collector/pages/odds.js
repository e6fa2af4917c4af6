/** What a report can reveal at most, in words and as a picture, before any question is shown. */
import { hundred, make } from "./dom.js";

/** A share in per cent, with decimals where a whole number would say all, none or no difference. */
export const percent = (share) => {
	const number = 100 * share;
	const fine = number < 1 || number > 99 || Math.abs(number - 50) < 1;
	return `${fine ? Number(number.toPrecision(4)) : number.toFixed(0)} %`;
};

/**
 * Whatever a report with this ε says about two answers can be made from a coin that keeps the truth with probability
 * e^ε / (1 + e^ε) (Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy"). Somebody who thought
 * both equally likely is at most this sure afterwards.
 */
export const sureness = (micro) => 1 / (1 + Math.exp(-micro / 1e6));

/** How sure anybody can become of all answers together. */
export const wholeOdds = (micro) => {
	const sure = sureness(micro);
	return make("div", { className: "odds" }, hundred(Math.round(100 * sure)),
		make("p", {}, "Someone who thinks two sets of answers equally likely for you could become at most ",
			make("strong", {}, `${percent(sure)} sure`), " of the right one from your whole report."));
};

/** The same for one question. */
export const questionOdds = (micro) => (micro === Infinity ? "can be proved" : `at most ${percent(sureness(micro))} sure`);

/** What a report can reveal at most, in words and as a picture, before any question is shown. */
import { hundred, make } from "./dom.js";
import { number, t } from "./words.js";

/** A share in per cent, with decimals where a whole number would say all, none or no difference. */
export const percent = (share) => {
	const points = 100 * share;
	const fine = points < 1 || points > 99 || Math.abs(points - 50) < 1;
	return t("percent", { number: number(fine ? Number(points.toPrecision(4)) : points.toFixed(0)) });
};

/**
 * Whatever a report with this ε says about two answers can be made from a coin that keeps the truth with probability
 * e^ε / (1 + e^ε) (Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy"). An observer who thought
 * both equally likely is at most this sure afterwards.
 */
export const sureness = (micro) => 1 / (1 + Math.exp(-micro / 1e6));

/** How sure anybody can become of all answers together. */
export const wholeOdds = (micro) => {
	const sure = sureness(micro);
	return make("div", { className: "odds" }, hundred(Math.round(100 * sure)),
		make("p", {}, t("odds.before"), make("strong", {}, t("odds.sure", { percent: percent(sure) })), t("odds.after")));
};

/** The same for one question. */
export const questionOdds = (micro) => t("odds.at most", { percent: percent(sureness(micro)) });

/** What a level means, before any question is shown. */
import { hundred, make } from "./dom.js";

/** People of 100, with decimals where a whole number would say all, none or no difference. */
const people = (share) => {
	const number = 100 * share;
	const fine = number < 1 || number > 99 || Math.abs(number - 50) < 1;
	return fine ? String(Number(number.toPrecision(4))) : number.toFixed(0);
};

const row = (answer, share) =>
	make("div", { className: "odds" },
		make("span", {}, `Of 100 people who answer ${answer}, `), hundred(Math.round(100 * share)),
		make("span", {}, make("strong", {}, people(share)), " reports say A. "));

/**
 * Whatever a report with this ε says about two answers can be made from a coin that keeps the truth with probability
 * e^ε / (1 + e^ε) (Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy").
 */
export const oddsOf = (micro) => {
	const truth = 1 / (1 + Math.exp(-micro / 1e6));
	return make("div", {}, row("A", truth), row("B", 1 - truth));
};

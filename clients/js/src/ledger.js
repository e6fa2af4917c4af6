/** The person's own account of what was spent, in millionths: see pldp.device.ledger. */
import { epsilonText } from "./epsilon.js";
import { fail } from "./errors.js";
import { english } from "./words.js";

/** The most that a person spends on one collector unless they say otherwise. */
export const LIFETIME_CAP = 20e6;
/** The most that reports to one author may tell about a hidden level: odds of 20 to 1. */
export const LEVEL_CAP = 3e6;

export const sum = (spends) => spends.reduce((total, spend) => total + spend.micro_epsilon, 0);
export const spentOn = ({ ledger }, hash) => sum(ledger.filter(({ survey }) => survey === hash));
export const spentBy = ({ ledger }, payer) => sum(ledger.filter(({ account }) => account === payer));

const refuseAbove = (cap, spent, cost, name) => {
	if (spent + cost <= cap) return;
	const [price, left, all] = [cost, Math.max(cap - spent, 0), cap].map(epsilonText);
	fail("BudgetError", `this answer costs epsilon ${price} and ${name} leaves ${left} of ${all}`);
};

export const checkSpends = (state, { hash, total, account }, spends) => {
	refuseAbove(state.cap, spentBy(state, account), sum(spends), "the lifetime cap");
	refuseAbove(total, spentOn(state, hash), sum(spends), "this survey's total_epsilon");
};

export const explainCap = (state, { account, hiding, signer }, words = english) => {
	const [cap, spent] = [state.cap, spentBy(state, account)].map((micro) => words.number(epsilonText(micro)));
	const hidden = hiding?.explainCap(state, signer, words) ?? [];
	return [words.say(account ? "cap.signer" : "cap.others", { cap, spent }), ...hidden].join("\n");
};

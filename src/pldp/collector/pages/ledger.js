/** What this person has spent, and what remains. */
import { epsilonText } from "./device/epsilon.js";
import { explainCap, spentBy, spentOn } from "./device/ledger.js";
import { bar, byId, make } from "./dom.js";

const row = ({ question, level, round, micro_epsilon }) =>
	make("tr", {}, make("td", {}, question), make("td", {}, level || "hidden"), make("td", { className: "number" }, String(round)),
		make("td", { className: "number" }, epsilonText(micro_epsilon)));

/** What this person can still spend here, in millionths: the least that the survey's total and the cap leave. */
export const roomOf = (survey, device) => {
	const { spends: ledger, cap } = device.ledger();
	return Math.max(0, Math.min(survey.total - spentOn({ ledger }, survey.hash), cap - spentBy({ ledger }, survey.account)));
};

export const showLedger = (survey, device) => {
	const { spends: ledger, cap } = device.ledger();
	const here = ledger.filter((spend) => spend.survey === survey.hash);
	const spent = spentOn({ ledger }, survey.hash);
	const limited = survey.total !== Infinity;
	byId("spent").textContent = limited
		? `ε = ${epsilonText(spent)} of ${epsilonText(survey.total)} on this survey; ${device.remaining()} remains.`
		: `ε = ${epsilonText(spent)} on this survey, which sets no limit.`;
	byId("limit").textContent = explainCap({ ledger, cap }, survey);
	byId("bar").replaceChildren(...(limited ? [bar(spent / survey.total)] : []));
	byId("spends").hidden = !here.length;
	byId("spends").tBodies[0].replaceChildren(...here.map(row));
};

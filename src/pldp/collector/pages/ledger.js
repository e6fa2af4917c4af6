/** What this person has spent, and what remains. */
import { epsilonText } from "./device/epsilon.js";
import { bar, byId, make } from "./dom.js";

const row = ({ question, level, micro_epsilon }) =>
	make("tr", {}, make("td", {}, question), make("td", {}, level),
		make("td", { className: "number" }, epsilonText(micro_epsilon)));

export const showLedger = (survey, device) => {
	const { spends, total, cap } = device.ledger();
	const here = spends.filter((spend) => spend.survey === survey.hash);
	const spent = here.reduce((sum, spend) => sum + spend.micro_epsilon, 0);
	const limited = survey.total !== Infinity;
	byId("spent").textContent = limited
		? `ε = ${epsilonText(spent)} of ${epsilonText(survey.total)} on this survey; ${device.remaining()} remains.`
		: `ε = ${epsilonText(spent)} on this survey, which sets no limit.`;
	const limit = cap === null ? "" : ` of your own limit of ${epsilonText(cap)}`;
	if (total > spent || limit) byId("spent").append(` All surveys at this address: ε = ${epsilonText(total)}${limit}.`);
	byId("bar").replaceChildren(...(limited ? [bar(spent / survey.total)] : []));
	byId("spends").hidden = !here.length;
	byId("spends").tBodies[0].replaceChildren(...here.map(row));
};

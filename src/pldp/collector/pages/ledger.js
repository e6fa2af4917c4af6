/** What this person has spent, and what remains. */
import { explainCap, spentBy, spentOn } from "./device/ledger.js";
import { bar, byId, make } from "./dom.js";
import { deviceWords, epsilon, levelName, questionText, t } from "./words.js";

const row = (survey, { question, level, round, micro_epsilon }) =>
	make("tr", {}, make("td", {}, question ? questionText(survey.question(question)) : t("ledger.report")), make("td", {}, level ? levelName(level) : t("ledger.hidden")),
		make("td", { className: "number" }, String(round)), make("td", { className: "number" }, epsilon(micro_epsilon)));

/** What this person can still spend here, in millionths: the least that the survey's total and the cap leave. */
export const roomOf = (survey, device) => {
	const { spends: ledger, cap } = device.ledger();
	return Math.max(0, Math.min(survey.total - spentOn({ ledger }, survey.hash), cap - spentBy({ ledger }, survey.account)));
};

export const showLedger = (survey, device) => {
	const { spends: ledger, cap, levelCap } = device.ledger();
	const here = ledger.filter((spend) => spend.survey === survey.hash);
	const spent = spentOn({ ledger }, survey.hash);
	const limited = survey.total !== Infinity;
	byId("spent").textContent = limited
		? t("ledger.spent", { spent: epsilon(spent), total: epsilon(survey.total), left: epsilon(Math.max(survey.total - spent, 0)) })
		: t("ledger.no limit", { spent: epsilon(spent) });
	byId("limit").textContent = explainCap({ ledger, cap, level_cap: levelCap }, survey, deviceWords());
	byId("bar").replaceChildren(...(limited ? [bar(spent / survey.total)] : []));
	byId("spends").hidden = !here.length;
	byId("spends").tBodies[0].replaceChildren(...here.map((spend) => row(survey, spend)));
};

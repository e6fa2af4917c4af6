import { epsilonText } from "./epsilon.js";
import { FRESH, ONCE, pricesOf } from "./repeat.js";

/** Python's format ".{digits}g". */
const significant = (number, digits) => {
	const [mantissa, power] = number.toExponential(digits - 1).split("e");
	if (power >= -4 && power < digits) return String(Number(number.toPrecision(digits)));
	return `${Number(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
};

export const ofHundred = (chance) => {
	const people = 100 * chance;
	if (people < 1 || people > 99) return significant(people, people < 1 ? 2 : 4);
	return people % 1 === 0.5 ? 2 * Math.round(people / 2) : Math.round(people);
};

export const times = (micro) => `${micro < 7e8 ? significant(Math.exp(micro / 1e6), 3) : `e^${epsilonText(micro)}`} times`;
export const odds = (micro) => `${times(micro)} (ε = ${epsilonText(micro)})`;

const aboutRepeats = (repeat, level, hiding) => {
	if (repeat === ONCE) return "Asked again, you send the same report or none.";
	const prices = pricesOf(repeat, level);
	const levelToo = hiding ? " It tells as much about your level again." : "";
	if (repeat === FRESH) return `Every round is a new draw and costs ε = ${epsilonText(prices[0][1])} again.${levelToo}`;
	return `Asked again, you pay: ${prices.map(([what, micro]) => `${what} ε = ${epsilonText(micro)}`).join("; ")}.`;
};

export const explainLevel = ({ hiding, repeat }, question, level) =>
	[
		`Level "${level.name}", question "${question.name}":`,
		...question.explain(level),
		hiding?.explain(question) ?? "Your report shows the level that you chose.",
		aboutRepeats(repeat, hiding ? question.levels.at(-1) : level, hiding), // the dearest one is charged where levels are hidden
	].join("\n");

/** Who mixes reports before anybody else sees them, and what that is worth: a promise that no device can check. */
export const explainShuffle = ({ by, people }) =>
	`${by} promises to mix your report with at least ${(people - 1).toLocaleString("en")} others before anybody else sees it, ` +
	"and to pass on no name, address or time. If that is so, whoever sees only mixed reports or results learns far less " +
	`about you than your level allows. If it is not so, and towards ${by} itself, only your level protects you.`;

import { epsilonText } from "./epsilon.js";

/** Python's format ".{digits}g". */
const significant = (number, digits) => {
	const [mantissa, power] = number.toExponential(digits - 1).split("e");
	if (power >= -4 && power < digits) return String(Number(number.toPrecision(digits)));
	return `${Number(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
};

const ofHundred = (chance) => {
	const people = 100 * chance;
	if (people < 1 || people > 99) return significant(people, people < 1 ? 2 : 4);
	return people % 1 === 0.5 ? 2 * Math.round(people / 2) : Math.round(people);
};

const times = (micro) => {
	const epsilon = epsilonText(micro);
	return `at most ${micro < 7e8 ? significant(Math.exp(micro / 1e6), 3) : `e^${epsilon}`} times (ε = ${epsilon})`;
};

export const explainLevel = ({ questions, ask = questions.length, hiding }, question, level) => {
	const { form, chances } = question.channels[level];
	const [chosen, example] = [question.levels[level], `"${question.values[0]}"`];
	const [truth, other] = chances.map(ofHundred);
	const says =
		form === "response" ? `says ${example}`
		: form === "unary" ? `ticks ${example} among other boxes`
		: `names a group of answers that contains ${example}`;
	const answers = ask === 1 ? "this answer" : `all ${ask} answers at one level`;
	const shown = hiding
		? `Your level is hidden: label and ${answers} together change the odds between any two levels ` +
			`${times(hiding.leak)};\nlabel and this answer, between any two pairs of answer and level, ` +
			`${times(hiding.joint(question))}.`
		: "Your report shows the level that you chose.";
	return (
		`Level "${chosen.name}", question "${question.name}":\n` +
		`of 100 people whose answer is ${example}, about ${truth} send a report that ${says};\n` +
		`of 100 people whose answer is something else, about ${other} do.\n` +
		`Whatever your report says, it changes the odds between any two answers ${times(chosen.micro)}.\n${shown}`
	);
};

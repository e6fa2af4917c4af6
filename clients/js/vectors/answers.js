/**
 * node answers.js: one request per line on standard input, one answer per line on standard output.
 * {survey, answers: [[question, value], …], level, people}: so many new devices answer what they are asked → {reports}, or {error}.
 */
import { createInterface } from "node:readline";
import { openDevice, readSurvey } from "../src/index.js";

const answer = async ({ survey: text, answers, level, people }) => {
	const survey = await readSurvey(text);
	const reports = [];
	for (let left = people; left > 0; left--) {
		const device = await openDevice(survey);
		const asked = new Set(device.asked);
		reports.push(await device.answerAll(new Map(answers.filter(([name]) => asked.has(name))), level));
	}
	return { reports };
};

for await (const line of createInterface({ input: process.stdin })) {
	const answered = await answer(JSON.parse(line)).catch((error) => ({ error: `${error.name}: ${error.message}` }));
	console.log(JSON.stringify(answered));
}

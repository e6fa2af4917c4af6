/**
 * node audit.js: one request per line on standard input, one answer per line on standard output.
 * {survey, people: [{values: [[question, value], …], level}, …], samples}: for each of the people let so many new devices
 * answer, in random order → {reports: [[text, …], …], times: [[nanoseconds, …], …]}, or {error}.
 */
import { randomInt } from "node:crypto";
import { createInterface } from "node:readline";
import { openDevice, readSurvey } from "../src/index.js";

const WARM_UP = 20;

const observe = async ({ survey: text, people, samples }) => {
	const survey = await readSurvey(text);
	const order = people.flatMap((_, place) => Array(samples).fill(place));
	for (let left = order.length - 1; left > 0; left--) {
		const other = randomInt(left + 1);
		[order[left], order[other]] = [order[other], order[left]];
	}
	const [reports, times] = [people.map(() => []), people.map(() => [])];
	for (const [turn, place] of [...order.slice(0, WARM_UP), ...order].entries()) {
		const { values, level } = people[place];
		const device = await openDevice(survey);
		const start = process.hrtime.bigint();
		const report = await device.answerAll(new Map(values), level);
		const taken = Number(process.hrtime.bigint() - start);
		if (turn < Math.min(WARM_UP, order.length)) continue;
		reports[place].push(JSON.stringify(report));
		times[place].push(taken);
	}
	return { reports, times };
};

for await (const line of createInterface({ input: process.stdin })) {
	const answer = await observe(JSON.parse(line)).catch((error) => ({ error: `${error.name}: ${error.message}` }));
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}

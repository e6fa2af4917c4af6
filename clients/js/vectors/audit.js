/**
 * node audit.js: one request per line on standard input, one answer per line on standard output.
 * {survey, people: [{values: [[question, value], …], level}, …], samples}: for each of the people let so many new devices
 * answer, in random order → {reports: [[text, …], …], times: [[nanoseconds, …], …]}, or {error}.
 * {survey, stories: [[{round, values, level}, …], …]}: let a new device live through each story, whatever its cap → {told:
 * [[[text, or null where it refuses, spent so far], …], …]}, or {error}.
 */
import { randomInt } from "node:crypto";
import { createInterface } from "node:readline";
import { memoryStore, openDevice, readSurvey } from "../src/index.js";

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
		await device.changeCap(1000);
		const start = process.hrtime.bigint();
		const report = await device.answerAll(new Map(values), level);
		const taken = Number(process.hrtime.bigint() - start);
		if (turn < Math.min(WARM_UP, order.length)) continue;
		reports[place].push(JSON.stringify(report));
		times[place].push(taken);
	}
	return { reports, times };
};

const live = async (survey, story) => {
	const [store, told] = [memoryStore(), []];
	for (const { round, values, level } of story) {
		const device = await openDevice(survey, { store, round });
		await device.changeCap(1000);
		const report = await device.answerAll(new Map(values), level).catch((error) => {
			if (error.name !== "AnswerError") throw error;
			return null;
		});
		told.push([report && JSON.stringify(report), device.ledger().total]);
	}
	return told;
};

const replay = async ({ survey: text, stories }) => {
	const survey = await readSurvey(text);
	const told = [];
	for (const story of stories) told.push(await live(survey, story));
	return { told };
};

for await (const line of createInterface({ input: process.stdin })) {
	const request = JSON.parse(line);
	const answer = await (request.stories ? replay : observe)(request).catch((error) => ({ error: `${error.name}: ${error.message}` }));
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}

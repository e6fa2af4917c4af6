/**
 * node audit.js: one request per line on standard input, one answer per line on standard output.
 * {survey, people: [{values: [[question, value], …], level}, …], order, warm_up, timed}: let a new device answer for each of the
 * people in this order and send the report, after a warm-up that does not count → {sent: [[{url, headers, body}, …], …], times:
 * [nanoseconds, …], work: […]}: every request that a report made, how long answering took, and for how long the processor worked; or
 * {error}. Where nothing is timed, several devices answer at once.
 * {survey, stories: [[{round, values, level}, …], …], mode}: let a new device live through each story, whatever its cap, with its
 * state in memory, in a file, in one that is copied after every step, or in one that two devices share (with `editions`, the texts of
 * several surveys, a step's round is the number of one) → {told: [[[body, or null
 * where it refuses, spent so far], …], …]}, or {error}.
 * {survey, question, level, set, draws: [[value, [random bytes in hexadecimal, …]], …]}: draw from these random bytes, without a question the
 * label of a hidden level, or the level of a lottery → {drawn: [output, or null where other numbers of random bytes are asked for, …]}, or {error}.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bodyLength, bodyOf } from "../src/body.js";
import { fromHex } from "../src/bytes.js";
import { memoryStore, openDevice, readSurvey, send } from "../src/index.js";

const NOWHERE = "https://collector.invalid/v1/reports";
const AT_ONCE = 32;

const answerOnce = async (survey, { values, level }) => {
	const device = await openDevice(survey);
	await device.changeCap(1000, { levelCap: 1000 });
	const [start, before] = [process.hrtime.bigint(), process.cpuUsage()];
	const report = await device.answerAll(new Map(values), level);
	const [taken, { user, system }] = [Number(process.hrtime.bigint() - start), process.cpuUsage(before)];
	const sent = [];
	const fetch = async (url, { method, headers, body }) => {
		sent.push({ url: `${method} ${url}`, headers: Object.entries(headers), body: String(body) });
		return new Response("{}");
	};
	await send(NOWHERE, survey, report, { fetch });
	return { sent, taken, work: 1000 * (user + system) };
};

/** Run this for every item, so many at once; results in the order of the items. Devices wait for the threads that compute hashes. */
const inTurns = async (items, atOnce, run) => {
	const found = [];
	for (let start = 0; start < items.length; start += atOnce)
		found.push(...(await Promise.all(items.slice(start, start + atOnce).map(run))));
	return found;
};

const observe = async ({ survey: text, people, order, warm_up, timed }) => {
	const survey = await readSurvey(text);
	for (const place of warm_up) await answerOnce(survey, people[place]);
	const made = await inTurns(order, timed ? 1 : AT_ONCE, (place) => answerOnce(survey, people[place]));
	return { sent: made.map(({ sent }) => sent), times: made.map(({ taken }) => taken), work: made.map(({ work }) => work) };
};

const fileStore = (path) => {
	const read = () => (existsSync(path) ? readFileSync(path, "utf8") : null);
	return { read: async () => read(), swap: async (before, after) => read() === before && (writeFileSync(path, after), true) };
};

/** Stores for the steps of one story, by the way its state is kept. */
const storesOf = (mode, folder) => {
	if (!folder) {
		const store = memoryStore();
		return () => store;
	}
	let path = join(folder, "0");
	return (number) => {
		if (mode === "restored" && number) {
			const copy = join(folder, String(number));
			copyFileSync(path, copy);
			path = copy;
		}
		return fileStore(path);
	};
};

/** With editions, the round of a step is the number of one. */
const live = async (only, story, mode, editions) => {
	const folder = mode !== "memory" && mkdtempSync(join(tmpdir(), "pldp-audit-"));
	const storeOf = storesOf(mode, folder);
	const [told, open] = [[], []];
	for (const [number, { round: asked, values, level }] of story.entries()) {
		const [survey, round] = editions ? [editions[asked], 1] : [only, asked];
		// Of two devices, the one that is kept open does every other step of a round.
		const kept = mode === "two" && number % 2 && open.find((device) => device.round === round);
		const device = kept || (await openDevice(survey, { store: storeOf(number), round }));
		open.push(device);
		await device.changeCap(1000, { levelCap: 1000 });
		const report = await device.answerAll(new Map(values), level).catch((error) => {
			if (error.name !== "AnswerError") throw error;
			return null;
		});
		told.push([report && bodyOf(report, bodyLength(survey)), device.ledger().total]);
	}
	if (folder) rmSync(folder, { recursive: true });
	return told;
};

const replay = async ({ survey: text, editions: texts, stories, mode }) => {
	const editions = texts && (await Promise.all(texts.map((each) => readSurvey(each))));
	const survey = editions ? null : await readSurvey(text);
	return { told: await inTurns(stories, AT_ONCE, (story) => live(survey, story, mode, editions)) };
};

/** The output that these random bytes make, all of which must be asked for as they are cut. */
const drawFrom = (channel, value, parts) => {
	const left = parts.map(fromHex);
	const [cut, random] = [new Error(), (count) => (left[0]?.length === count ? left.shift() : fail(cut))];
	try {
		const output = channel.draw(value, random);
		return left.length ? null : output;
	} catch (error) {
		if (error === cut) return null;
		throw error;
	}
};

const fail = (error) => {
	throw error;
};

const draw = async ({ survey: text, question, level, set, draws }) => {
	const survey = await readSurvey(text);
	const hider = survey.hiding?.channel ?? survey.hiding;
	const channel = question ? survey.question(question).levelOf(level).channel : hider;
	return { drawn: draws.map(([value, parts]) => drawFrom(channel, set ? BigInt(value) : Number(value), parts)) };
};

const answer = (request) => (request.stories ? replay(request) : request.draws ? draw(request) : observe(request));

for await (const line of createInterface({ input: process.stdin })) {
	const request = JSON.parse(line);
	const found = await answer(request).catch((error) => ({ error: `${error.name}: ${error.message}` }));
	process.stdout.write(`${JSON.stringify(found)}\n`);
}

/** node replay.js FILE: replay what tests/clients/make_vectors.py wrote; tell how much came out the same. */
import { deepStrictEqual } from "node:assert";
import { createHash, createHmac } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { memoryStore, openDevice, readSurvey } from "../src/index.js";
import { stream } from "./stream.js";

// Node sends every call of WebCrypto through a thread, which would take most of the time here; the client's own tests use it.
const { subtle } = crypto;
const { importKey } = subtle;
subtle.importKey = (format, key, algorithm, ...rest) =>
	algorithm.name === "HMAC" ? Promise.resolve(key) : importKey.call(subtle, format, key, algorithm, ...rest);
subtle.sign = async (_, key, text) => createHmac("sha256", key).update(text).digest();
subtle.digest = async (_, text) => createHash("sha256").update(text).digest();

const counts = { surveys: 0, devices: 0, reports: 0, refusals: 0, accepted: 0, refused: 0 };
let survey;

const checkSurvey = async ({ text, trusted, hash, explain, levels }) => {
	survey = await readSurvey(text, trusted ? { trustedKey: trusted } : {});
	const device = await openDevice(survey);
	deepStrictEqual({ hash: survey.hash, explain: levels.map((level) => device.explain(level)) }, { hash, explain });
	counts.surveys += 1;
};

/** A number that JSON cannot write. */
const revived = ([name, value]) => [name, value?.number ? Number(value.number) : value];

const checkDevice = async ({ stream: name, cap, asked, calls, results, state, remaining, spent }) => {
	const store = memoryStore();
	const device = await openDevice(survey, { store, cap, random: stream(name) });
	const came = [];
	for (const [values, levels] of calls) {
		const named = Array.isArray(levels) ? new Map(levels) : levels;
		const report = device.answerAll(new Map(values.map(revived)), named);
		came.push(await report.then(JSON.stringify, (error) => error.name));
	}
	deepStrictEqual(
		{ asked: device.asked, results: came, remaining: device.remaining(), spent: device.ledger().total },
		{ asked, results, remaining, spent },
	);
	if (state) deepStrictEqual(JSON.parse(await store.read()), state);
	counts.devices += 1;
	counts.reports += results.filter((result) => result.startsWith("{")).length;
	counts.refusals += results.filter((result) => !result.startsWith("{")).length;
};

const checkMutant = async ({ mutant, hash }) => {
	const read = readSurvey(mutant).then((found) => found.hash, (error) => (error.name === "SurveyError" ? null : error));
	deepStrictEqual(await read, hash);
	counts[hash ? "accepted" : "refused"] += 1;
};

for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
	const vector = JSON.parse(line);
	try {
		await (vector.mutant ? checkMutant : vector.text ? checkSurvey : checkDevice)(vector);
	} catch (error) {
		console.error(`vector ${JSON.stringify(vector).slice(0, 300)}`);
		throw error;
	}
}
console.log(JSON.stringify(counts));

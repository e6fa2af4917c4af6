/** node replay.js FILE…: replay what tests/clients/make_vectors.py wrote; tell in a line per file how much came out the same. */
import { deepStrictEqual } from "node:assert";
import { createHash, createHmac } from "node:crypto";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { bodyLength } from "../src/body.js";
import { sha256 } from "../src/bytes.js";
import { memoryStore, openDevice, readSurvey } from "../src/index.js";
import { openState } from "../src/state.js";
import { stream } from "./stream.js";

// Node sends every call of WebCrypto through a thread, which would take most of the time here; the client's own tests use it.
const { subtle } = crypto;
const { importKey } = subtle;
subtle.importKey = (format, key, algorithm, ...rest) =>
	algorithm.name === "HMAC" ? Promise.resolve(key) : importKey.call(subtle, format, key, algorithm, ...rest);
subtle.sign = async (_, key, text) => createHmac("sha256", key).update(text).digest();
subtle.digest = async (_, text) => createHash("sha256").update(text).digest();

const [MOST_SETTLED, LARGE] = [64, 1024];
const NOTHING = { surveys: 0, devices: 0, once: 0, fresh: 0, tracked: 0, refusals: 0, accepted: 0, refused: 0 };
let [counts, editions] = [];

/** Hash the permanent outputs of many values at every level, of a device whose secret is the start of a stream. */
const settledHash = async (name, { author, questions }) => {
	const { keptBytes } = await openState(memoryStore(), null, null, stream(name));
	const lines = [];
	for (const { kind, values, buckets, identity, levels } of questions) {
		const size = values?.length ?? buckets;
		for (const { name: level, stages } of levels.filter((each) => each.stages)) {
			for (let value = 0; value < Math.min(size, MOST_SETTLED); value += 1) {
				const encoded = kind === "choices" ? BigInt(value) ** 5n % 2n ** BigInt(size) : value;
				lines.push(await stages.settle(encoded, (kept, count) => keptBytes(count, "permanent", author, identity, level, kept)));
			}
		}
	}
	return sha256(lines.join("\n"));
};

const checkEdition = async (name, { text, trusted, hash, length, explain, levels, identities, settled }) => {
	const survey = await readSurvey(text, trusted ? { trustedKey: trusted } : {});
	const device = await openDevice(survey);
	deepStrictEqual(
		{
			hash: survey.hash,
			length: bodyLength(survey),
			explain: levels.map((level) => device.explain(level)),
			identities: survey.questions.map(({ identity }) => identity),
			settled: await settledHash(name, survey),
		},
		{ hash, length, explain, identities, settled },
	);
	counts.surveys += 1;
	return survey;
};

const checkEditions = async ({ editions: described, name }) => {
	editions = [];
	for (const edition of described) editions.push(await checkEdition(name, edition));
};

/** A number that JSON cannot write. */
const revived = ([name, value]) => [name, value?.number ? Number(value.number) : value];

/** Errors that say the same in all languages begin so; of others only the name is the same. */
const SAME_WORDS = /^(question must be one that this device|question '|all answers|level '|this answer costs|this report would bring|round must)/;

const VERBS = {
	answer: async (device, values, levels, newLabel) => {
		const report = await device.answerAll(new Map(values.map(revived)), Array.isArray(levels) ? new Map(levels) : levels, { newLabel });
		return `${JSON.stringify(report)} ${await device.receipt(report)}`;
	},
	withdraw: (device, question) => device.withdraw(question),
	"change cap": (device, cap, levelCap) => device.changeCap(cap, { levelCap }).then(() => ""),
};

const resultOf = (device, [verb, ...what]) =>
	VERBS[verb](device, ...what).catch(({ name, message }) => `${name}: ${SAME_WORDS.test(message) ? message : ""}`);

const checkDevice = async ({ stream: name, cap, story, spent, state }) => {
	const [store, random] = [memoryStore(), stream(name)];
	let device;
	for (const { edition, round, calls, ...expected } of story) {
		device = await openDevice(editions[edition], { store, cap: device ? null : cap, round, random });
		const results = [];
		for (const call of calls) results.push(await resultOf(device, call));
		const orders = [];
		const small = (name) => (editions[edition].question(name).values ?? []).length < LARGE && (editions[edition].question(name).buckets ?? 0) < LARGE;
		for (const name of device.asked.filter(small)) orders.push(await device.options(name));
		const found = { asked: device.asked, options: orders, results, answered: await device.answered(), remaining: device.remaining() };
		deepStrictEqual(found, expected);
		counts[editions[edition].repeat] += results.filter((result) => result.startsWith("{")).length;
		counts.refusals += results.filter((result) => result.includes("Error")).length;
	}
	deepStrictEqual({ spent: device.ledger().total, state: await sha256(await store.read()) }, { spent, state });
	counts.devices += 1;
};

const checkMutant = async ({ mutant, hash }) => {
	const read = readSurvey(mutant).then((found) => found.hash, (error) => (error.name === "SurveyError" ? null : error));
	deepStrictEqual(await read, hash);
	counts[hash ? "accepted" : "refused"] += 1;
};

const replay = async (path) => {
	counts = { ...NOTHING };
	for await (const line of createInterface({ input: createReadStream(path) })) {
		const vector = JSON.parse(line);
		try {
			await (vector.mutant ? checkMutant : vector.editions ? checkEditions : checkDevice)(vector);
		} catch (error) {
			process.exitCode = 1;
			return { error: `${error.stack}\nvector ${line.slice(0, 300)}` };
		}
	}
	return counts;
};

for (const path of process.argv.slice(2)) console.log(JSON.stringify(await replay(path)));

import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyLength, bodyOf } from "../src/body.js";
import { utf8 } from "../src/bytes.js";
import { memoryStore, openDevice, openQueue, send, webStore } from "../src/index.js";
import { fakeStorage, named, survey } from "../vectors/support.js";

const URL_ = "https://collector.example/v1/reports";

const valueOf = ({ kind, values, low }) => ({ choice: values?.at(-1), choices: values?.slice(0, 1), number: Number(low) })[kind];

/** Reports of new people at every level: each question alone, and all that a person is asked. */
const reportsOf = async (asked) => {
	const reports = [];
	for (const { name: level } of asked.levels) {
		for (let skip = 0; skip <= asked.questions.length; skip += 1) {
			const device = await openDevice(asked);
			await device.changeCap(1000, { levelCap: 1000 });
			const names = skip < device.asked.length ? [device.asked[skip]] : device.asked;
			const values = names.map((name) => [name, valueOf(asked.question(name))]);
			reports.push(await device.answerAll(new Map(values), level));
		}
	}
	return reports;
};

const lengths = (bodies) => [...new Set(bodies.map((body) => utf8(body).length))];

for (const name of ["commute", "hidden", "kinds", "tracked"]) {
	test(`${name}: all levels and skipped questions go out with one length, at once and from the queue`, async () => {
		const asked = await survey(`${name}.json`);
		const reports = await reportsOf(asked);
		const bodies = [];
		const fetch = async (_, { body }) => (bodies.push(body), new Response("{}"));
		for (const report of reports) {
			await send(URL_, asked, report, { fetch });
			await openQueue(URL_, asked, { fetch }).add(report);
		}
		assert.equal(bodies.length, 2 * reports.length);
		assert.deepEqual(lengths(bodies), [bodyLength(asked)]);
		assert.deepEqual(bodies.map((body) => JSON.parse(body)), reports.flatMap((report) => [report, report]));
		assert.ok(lengths(reports.map((report) => JSON.stringify(report))).length > 1, "without padding they differ");
	});
}

test("a report that waits keeps the length of its survey when a later page asks another one", async () => {
	const [older, later] = [await survey("kinds.json"), await survey("commute.json")];
	const [report] = await reportsOf(older);
	const store = () => webStore("queue", storage);
	const storage = fakeStorage();
	const bodies = [];
	const offline = async () => Promise.reject(new TypeError("offline"));
	await openQueue(URL_, older, { store: store(), fetch: offline }).add(report);
	const fetch = async (_, { body }) => (bodies.push(body), new Response("{}"));
	await openQueue(URL_, later, { store: store(), fetch, now: () => Date.now() + 2000 }).flush();
	assert.deepEqual(bodies, [bodyOf(report, bodyLength(older))]);
	assert.notEqual(bodyLength(older), bodyLength(later));
});

test("what waited in an older version is sent with the length of the survey that is asked now", async () => {
	const asked = await survey("commute.json");
	const [report] = await reportsOf(asked);
	const store = memoryStore();
	await store.swap(null, JSON.stringify({ pldp_queue: 2, reports: [{ report, round: 1 }], tries: 0, due: 0 }));
	const bodies = [];
	await openQueue(URL_, asked, { store, fetch: async (_, { body }) => (bodies.push(body), new Response("{}")) }).flush();
	assert.deepEqual(lengths(bodies), [bodyLength(asked)]);
});

test("a report for another survey is refused before anything is sent or kept", async () => {
	const [asked, other] = [await survey("commute.json"), await survey("kinds.json")];
	const [report] = await reportsOf(other);
	const fetch = async () => assert.fail("it was sent");
	await assert.rejects(send(URL_, asked, report, { fetch }), named("AnswerError", /this survey/));
	const queue = openQueue(URL_, asked, { fetch });
	await assert.rejects(queue.add(report), named("AnswerError", /this survey/));
	assert.equal((await queue.flush()).waiting, 0);
});

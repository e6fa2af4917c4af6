import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { bodyLength } from "../src/body.js";
import { openQueue, send, webStore, withdraw } from "../src/index.js";
import { fakeStorage, named } from "../vectors/support.js";

const URL_ = "https://collector.example/reports";
const form = { integers: 2 };
const SURVEY = { hash: "0", questions: [{ name: "q", levels: [{ name: "a", channel: { form } }, { name: "more", channel: { form } }] }] };
const report = (id) => ({ pldp: 1, survey: "0", id: `${id}`, answers: [{ question: "q", level: "a", output: 1 }] });

/** A collector that answers with these statuses in turn (null: cannot be reached), then with 200. */
const collector = (...statuses) => {
	const arrived = [];
	const fetch = async (url, { body }) => {
		arrived.push(JSON.parse(body).id);
		const status = statuses.length ? statuses.shift() : 200;
		if (status === null) throw new TypeError("fetch failed");
		const reply = status < 300 ? { outcome: "accepted" } : { code: "a_reason" };
		const text = [204, 304].includes(status) ? null : JSON.stringify(reply);
		return new Response(text, { status, headers: status === 503 ? { "retry-after": "120" } : {} });
	};
	return { fetch, arrived };
};

const clock = () => {
	const now = () => now.time;
	now.time = 1_000_000;
	return now;
};

test("a report goes out as JSON, without cookies and without following redirects", async () => {
	let seen;
	const fetch = async (url, options) => ((seen = { url, ...options }), new Response("", { status: 201 }));
	assert.equal((await send(URL_, SURVEY, report(1), { fetch })).outcome, "sent");
	assert.equal(seen.body.trimEnd(), JSON.stringify(report(1)));
	assert.deepEqual([seen.url, seen.method, seen.credentials, seen.redirect], [URL_, "POST", "omit", "error"]);
	assert.equal(seen.referrerPolicy, "no-referrer");
});

test("statuses are sorted into sent, dropped and kept", async () => {
	const cases = { sent: [200, 201, 202, 204], dropped: [400, 404, 409, 413, 422], kept: [408, 425, 429, 500, 503, 304, null] };
	for (const [outcome, statuses] of Object.entries(cases)) {
		for (const status of statuses) {
			const result = await send(URL_, SURVEY, report(1), collector(status));
			assert.equal(result.outcome, outcome, `${status}`);
			assert.match(result.reason, status === null ? /not reached \(TypeError\)/ : new RegExp(`HTTP ${status}`));
		}
	}
});

test("a refusal comes with the collector's own word, and no other content matters", async () => {
	const { results } = await openQueue(URL_, SURVEY, collector(422)).add(report(1));
	assert.deepEqual(results.map(({ outcome, code }) => [outcome, code]), [["dropped", "a_reason"]]);
	for (const body of ["", "null", "1", "[]", "<p>"]) {
		const { outcome, code } = await send(URL_, SURVEY, report(1), { fetch: async () => new Response(body) });
		assert.deepEqual([outcome, code], ["sent", undefined], body);
	}
});

test("a report goes to the round that it was made for, also when it waited for a later one", async () => {
	const storage = fakeStorage();
	const now = clock();
	const addresses = [];
	const open = (status) => openQueue(URL_, SURVEY, {
		store: webStore("queue", storage),
		fetch: async (url) => (addresses.push(url), new Response("", { status })),
		now,
	});
	storage.setItem("queue", JSON.stringify({ pldp_queue: 1, reports: [report(0)], tries: 0, due: 0 }));
	await open(503).add(report(1), { round: 1 });
	now.time += 4_000_000;
	await open(200).add(report(2), { round: 2 });
	assert.deepEqual(addresses, [URL_, `${URL_}?round=1`, URL_, `${URL_}?round=2`]);
});

test("a receipt takes a report back", async () => {
	const bodies = [];
	const answering = (status, reply) => ({
		fetch: async (url, { body }) => (bodies.push([url, body]), new Response(JSON.stringify(reply), { status })),
	});
	const url = "https://collector.example/v1/withdraw";
	assert.equal((await withdraw(url, "12ab", answering(200, { outcome: "withdrawn" }))).outcome, "sent");
	const unknown = await withdraw(url, "12ab", answering(404, { code: "unknown_receipt" }));
	assert.deepEqual([unknown.outcome, unknown.code], ["dropped", "unknown_receipt"]);
	assert.equal((await withdraw(url, "12ab", answering(503, {}))).outcome, "kept");
	assert.deepEqual(bodies, Array(3).fill([url, '{"receipt":"12ab"}']));
});

test("a report that was sent is never sent again", async () => {
	const { fetch, arrived } = collector();
	const queue = openQueue(URL_, SURVEY, { fetch });
	assert.deepEqual((await queue.add(report(1))).results.map(({ id, outcome }) => [id, outcome]), [["1", "sent"]]);
	await Promise.all([queue.add(report(1)), queue.add(report(2)), queue.flush(), queue.flush()]);
	assert.deepEqual(arrived, ["1", "2"]);
	assert.deepEqual(await queue.flush(), { results: [], waiting: 0, due: 0 });
});

test("a refused report is dropped with its reason, and the next one goes out", async () => {
	const { fetch, arrived } = collector(null, 422);
	const now = clock();
	const queue = openQueue(URL_, SURVEY, { fetch, now });
	await queue.add(report(1));
	now.time += 1000;
	const { results, waiting } = await queue.add(report(2));
	assert.deepEqual(results.map(({ id, outcome, reason }) => [id, outcome, reason]), [["1", "dropped", "HTTP 422"], ["2", "sent", "HTTP 200"]]);
	assert.equal(waiting, 0);
	assert.deepEqual(arrived, ["1", "1", "2"]);
});

test("pauses double up to an hour, and nothing is sent before they end", async () => {
	const { fetch, arrived } = collector(...Array(14).fill(null));
	const now = clock();
	const queue = openQueue(URL_, SURVEY, { fetch, now });
	let { due } = await queue.add(report(1));
	const pauses = [due - now.time];
	for (let tries = 2; tries <= 14; tries += 1) {
		assert.deepEqual((await queue.flush()).results, []);
		now.time = due;
		({ due } = await queue.flush());
		pauses.push(due - now.time);
	}
	pauses.forEach((pause, tries) => {
		const longest = Math.min(1000 * 2 ** tries, 3_600_000);
		assert.ok(pause >= Math.min(longest / 2, 1_800_000) && pause <= longest + 1, `${tries}: ${pause}`);
	});
	now.time = due;
	assert.equal((await queue.flush()).results[0].outcome, "sent");
	assert.equal(arrived.length, 15);
});

test("a collector that asks for a pause gets it; a failing report does not hold up the others", async () => {
	const { fetch, arrived } = collector(503, 503);
	const now = clock();
	const queue = openQueue(URL_, SURVEY, { fetch, now });
	assert.equal((await queue.add(report(1))).due, now.time + 120_000);
	await queue.add(report(2));
	now.time += 120_000;
	await queue.flush();
	now.time += 120_000;
	await queue.flush();
	assert.deepEqual(arrived, ["1", "1", "2", "1"]);
});

test("a clock that was set back does not stop the queue", async () => {
	const { fetch } = collector(null);
	const now = clock();
	const queue = openQueue(URL_, SURVEY, { fetch, now });
	await queue.add(report(1));
	now.time -= 86_400_000 / 100;
	now.time -= 3_600_000;
	assert.equal((await queue.flush()).waiting, 0);
});

test("reports wait in the store for the next page, and two tabs send each once", async () => {
	const storage = fakeStorage();
	const now = clock();
	const down = collector(null);
	await openQueue(URL_, SURVEY, { store: webStore("queue", storage), fetch: down.fetch, now }).add(report(1));
	now.time += 2000;
	const up = collector();
	const tab = () => openQueue(URL_, SURVEY, { store: webStore("queue", storage), fetch: up.fetch, now });
	const first = tab();
	await first.flush();
	await tab().flush();
	await first.flush();
	assert.deepEqual(up.arrived, ["1"]);
});

test("a report that was sent but could not be noted is not sent again", async () => {
	const storage = fakeStorage();
	const { setItem } = storage;
	const { fetch, arrived } = collector();
	const queue = openQueue(URL_, SURVEY, {
		store: webStore("queue", storage),
		fetch: async (...request) => {
			storage.setItem = () => {
				throw new DOMException("full", "QuotaExceededError");
			};
			return fetch(...request);
		},
	});
	await assert.rejects(queue.add(report(1)), named("DeviceStateError", /written/));
	storage.setItem = setItem;
	const { results } = await queue.flush();
	assert.deepEqual(results.map(({ id, outcome }) => [id, outcome]), [["1", "sent"]]);
	assert.deepEqual(arrived, ["1"]);
	storage.setItem("queue", '{"pldp_queue":2}');
	await assert.rejects(queue.flush(), named("DeviceStateError", /understood/));
});

test("a real server gets every report once, whatever it answers in between", async () => {
	const bodies = [];
	const server = createServer((request, response) => {
		let body = "";
		request.on("data", (part) => (body += part));
		request.on("end", () => {
			bodies.push(body);
			response.writeHead(bodies.length === 1 ? 500 : 200).end();
		});
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	const now = clock();
	const queue = openQueue(`http://127.0.0.1:${server.address().port}/`, SURVEY, { now });
	try {
		assert.equal((await queue.add(report(1))).waiting, 1);
		now.time += 1000;
		assert.equal((await queue.flush()).waiting, 0);
	} finally {
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	}
	assert.deepEqual(bodies, Array(2).fill(JSON.stringify(report(1)).padEnd(bodyLength(SURVEY))));
});

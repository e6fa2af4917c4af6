import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../src/bytes.js";
import { memoryStore, openDevice, readSurvey, webStore } from "../src/index.js";
import { changed, fakeStorage, named, survey } from "../vectors/support.js";

const CANARY = "a value that must never be repeated";
const commute = await survey("commute.json");

test("asking again gives the same report, whatever the answer and the level, and costs nothing", async () => {
	const device = await openDevice(commute);
	const first = await device.answer("mode", "bike", "open");
	assert.deepEqual(await device.answer("mode", "bike", "open"), first);
	assert.deepEqual(await device.answer("mode", "car", "strict"), first);
	assert.equal(device.ledger().total, 2_000_000);
	assert.equal(device.remaining(), "2");
});

test("the strictest level is the default", async () => {
	assert.equal((await (await openDevice(commute)).answer("mode", "bike")).answers[0].level, "strict");
});

test("overspending is refused before anything is drawn, all or nothing", async () => {
	let drawn = 0;
	const random = (count) => {
		drawn += count;
		return systemRandom(count);
	};
	const device = await openDevice(commute, { cap: 2.5, random });
	await device.answer("mode", "bike", "open");
	const before = [drawn, JSON.stringify(device.ledger())];
	const message = /costs epsilon 1 and the lifetime cap leaves 0.5 of 2.5/;
	await assert.rejects(device.answer("late", "yes", "standard"), named("BudgetError", message));
	assert.deepEqual([drawn, JSON.stringify(device.ledger())], before);
	assert.ok((await device.answer("late", "yes", "strict")).id);
});

test("the survey's total is a cap of its own", async () => {
	const device = await openDevice(commute);
	await device.answerAll({ mode: "bike", late: "yes" }, "open");
	await device.withdraw("late");
	await assert.rejects(device.answer("late", "no"), named("BudgetError", /this survey's total_epsilon leaves 0 of 4/));
	assert.equal(device.remaining(), "0");
});

test("a lifetime cap is tightened by the program that opens the device, and loosened by the person only", async () => {
	const store = memoryStore();
	const caps = [];
	for (const cap of [null, 1000, 3, 5, "1.0000019", undefined]) caps.push((await openDevice(commute, { store, cap })).ledger().cap);
	assert.deepEqual(caps, [20_000_000, 20_000_000, 3_000_000, 3_000_000, 1_000_001, 1_000_001]);
	const device = await openDevice(commute, { store });
	await device.changeCap("50");
	assert.equal((await openDevice(commute, { store })).ledger().cap, 50_000_000);
	for (const cap of [0, -1, 1001, "x", "1e3", NaN, {}]) {
		await assert.rejects(openDevice(commute, { cap }), named("EpsilonError"));
		await assert.rejects(device.changeCap(cap), named("EpsilonError"));
	}
});

test("no error contains what the person answered", async () => {
	const device = await openDevice(await survey("hidden.json"));
	const [asked] = device.asked;
	const left = ["direct", "symmetric", "bits", "hashed"].find((name) => !device.asked.includes(name));
	const attempts = [
		() => device.answer(asked, CANARY),
		() => device.answer(CANARY, "a"),
		() => device.answer(asked, "a", CANARY),
		() => device.answer(left, CANARY),
		() => device.answerAll({ [asked]: CANARY }),
		() => device.answerAll({ [asked]: "a" }, { other: CANARY }),
		() => device.answerAll(CANARY),
		() => device.answerAll([CANARY]),
		() => device.answerAll({}),
		() => device.answerAll(null),
		() => device.answer(asked, { toString: () => CANARY }),
		() => device.answer(asked, "a", 3),
	];
	for (const attempt of attempts) {
		await assert.rejects(attempt, (error) => error.name === "AnswerError" && !String(error.stack).includes(CANARY));
	}
	assert.equal(device.ledger().total, 0);
});

test("a person is asked as many questions as the survey says, always the same ones", async () => {
	const hidden = await survey("hidden.json");
	const store = memoryStore();
	const { asked } = await openDevice(hidden, { store });
	assert.equal(asked.length, 2);
	assert.deepEqual((await openDevice(hidden, { store })).asked, asked);
	const seen = new Set();
	for (let person = 0; person < 100; person += 1) seen.add((await openDevice(hidden)).asked.join());
	assert.equal(seen.size, 6); // one of the six pairs is missing with a probability of at most 6·(5/6)^100 < 1e-7
});

test("a level is explained by the odds of both answers, in the words of Python", async () => {
	const device = await openDevice(commute);
	const words = [
		'Level "standard", question "late":',
		'of 100 people whose answer is "yes", about 73 send a report that says "yes";',
		"of 100 people whose answer is something else, about 27 do.",
		"Whatever your report says, it changes the odds between any two answers at most 2.72 times (ε = 1).",
		"Your report shows the level that you chose.",
		"Asked again, you send the same report or none.",
		"Your device stops at ε = 20 for all surveys without a signature that it trusts; 0 is spent.",
	];
	assert.equal(device.explain("standard", "late"), words.join("\n"));
	assert.equal(device.explain().split("\n").length, 13);
	const hidden = (await openDevice(await survey("hidden.json"))).explain("open", "hashed");
	assert.match(hidden, /names a group of answers that contains "a";/);
	assert.match(hidden, /Your level is hidden: label and all 2 answers at one level together change the odds/);
	assert.throws(() => device.explain(CANARY), named("AnswerError"));
});

test("a store that cannot be written hands out no report and spends nothing", async () => {
	const storage = fakeStorage();
	const device = await openDevice(commute, { store: webStore("person", storage) });
	const { setItem } = storage;
	storage.setItem = () => {
		throw new DOMException("full", "QuotaExceededError");
	};
	const message = /the store cannot be written \(QuotaExceededError\)/;
	await assert.rejects(device.answer("mode", "bike"), named("DeviceStateError", message));
	assert.equal(device.ledger().total, 0);
	storage.setItem = setItem;
	await device.answer("mode", "bike");
	assert.equal(device.ledger().total, 500_000);
});

test("a store that is cleared while the page is open gets everything back", async () => {
	const storage = fakeStorage();
	const store = webStore("person", storage);
	const device = await openDevice(commute, { store });
	await device.answer("mode", "bike", "open");
	storage.clear();
	await device.answer("late", "yes", "open");
	assert.equal((await openDevice(commute, { store })).ledger().total, 4_000_000);
});

const spend = { survey: "", question: "", level: "", micro_epsilon: 1, round: 1, account: "" };
const said = { question: "", identity: "", scale: "", level: "", output: 1 };
const sent = { survey: "", author: "", repeat: "once", round: 1, answers: [said], withdrawn: false };
const good = { pldp_device: 2, secret: "00".repeat(32), cap: 1, ledger: [spend], sent: [sent] };

const storeOf = (text) => {
	const storage = fakeStorage();
	storage.setItem("person", text);
	return webStore("person", storage);
};

test("what is no state is refused and left as it is", async () => {
	const bad = ["", "null", "[]", "{}", ...[
		{ pldp_device: 4 }, { level_cap: "3" }, { labels: [null] }, { secret: "x" }, { secret: 12 }, { cap: "1" }, { ledger: null }, { sent: null }, { sent: [null] },
		...[{ micro_epsilon: -1 }, { round: 0.5 }, { account: null }].map((wrong) => ({ ledger: [{ ...spend, ...wrong }] })),
		...[{ round: "1" }, { answers: null }, { withdrawn: 0 }, { author: 1 }].map((wrong) => ({ sent: [{ ...sent, ...wrong }] })),
		...[-1, 1.5, "X", undefined].map((output) => ({ sent: [{ ...sent, answers: [{ ...said, output }] }] })),
	].map((change) => JSON.stringify({ ...good, ...change }))];
	for (const text of bad) {
		const store = storeOf(text);
		await assert.rejects(openDevice(commute, { store }), named("DeviceStateError"), text);
		assert.equal(await store.read(), text);
	}
	assert.equal((await openDevice(commute, { store: storeOf(JSON.stringify(good)) })).ledger().total, 1);
});

test("of a state of version 1, what was spent is kept and the memo is not", async () => {
	const spends = [{ survey: commute.hash, question: "mode", level: "open", micro_epsilon: 2_000_000 }];
	const store = storeOf(JSON.stringify({ pldp_device: 1, secret: "11".repeat(32), cap: null, ledger: spends, memo: { a: 1 } }));
	const device = await openDevice(commute, { store });
	assert.deepEqual([device.remaining(), device.ledger().cap], ["2", 20_000_000]);
	await device.answer("late", "yes");
	const { memo, ledger, ...state } = JSON.parse(await store.read());
	assert.deepEqual([memo, state.pldp_device, state.secret, ledger.length], [undefined, 3, "11".repeat(32), 2]);
	assert.deepEqual(ledger[0], { ...spends[0], round: 1, account: "" });
});

test("a store that is older than what was sent is refused", async () => {
	const storage = fakeStorage();
	const device = await openDevice(commute, { store: webStore("person", storage) });
	const before = storage.getItem("person");
	await device.answer("mode", "bike");
	storage.setItem("person", before);
	await assert.rejects(device.answer("late", "yes"), named("DeviceStateError", /older than what this program has sent/));
});

/** 64 devices on one store answer at once; return how many reports came out. */
const race = async (store) => {
	await openDevice(commute, { store, cap: 3 });
	const attempts = Array.from({ length: 64 }, async (_, place) => {
		const edited = await readSurvey(changed("commute.json", (document) => {
			document.collector = `collector ${place}`;
			delete document.total_epsilon;
		}));
		const device = await openDevice(edited, { store });
		return device.answer("mode", "bike", "strict").then(() => 1, (error) => (error.name === "BudgetError" ? 0 : Promise.reject(error)));
	});
	return (await Promise.all(attempts)).reduce((a, b) => a + b);
};

test("64 devices on one store spend exactly what the cap allows", async () => {
	assert.equal(await race(memoryStore()), 6);
	assert.equal(await race(webStore("race", fakeStorage())), 6);
});

test("the race finds a store that does not compare before it writes", async () => {
	const storage = fakeStorage();
	const careless = { ...webStore("race", storage), swap: async (_, after) => (storage.setItem("race", after), true) };
	assert.ok((await race(careless)) > 6);
});

test("Web Locks are used where there are any, one name per store", async () => {
	const names = new Set();
	const request = (name, work) => {
		names.add(name);
		return work();
	};
	const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
	Object.defineProperty(globalThis, "navigator", { value: { locks: { request } }, configurable: true });
	try {
		assert.equal(await race(webStore("race", fakeStorage())), 6);
	} finally {
		if (before) Object.defineProperty(globalThis, "navigator", before);
		else delete globalThis.navigator;
	}
	assert.deepEqual([...names], ["pldp race"]);
});

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { memoryStore, openDevice, readSurvey } from "../src/index.js";
import { changed, makeSigner, named, survey, surveyText } from "../vectors/support.js";

const commute = await survey("commute.json");
const tracked = await survey("tracked.json");
const fresh = await readSurvey(changed("commute.json", (document) => {
	document.repeat = "fresh";
	delete document.total_epsilon;
}));

/** Open a device for each of these rounds on one store. */
const rounds = (asked, numbers, options = {}) => {
	const store = memoryStore();
	return Promise.all(numbers.map((round) => openDevice(asked, { store, round, ...options })));
};
const answeredBefore = (names) => named("AnswerError", new RegExp(`^question must be one that this device has not answered yet, not ${names}: withdraw`));

test("asked once, a question is not answered in a later round, nor together with a new one", async () => {
	const [first, second] = await rounds(commute, [1, 2]);
	await first.answer("mode", "bike");
	await assert.rejects(second.answer("mode", "bike"), answeredBefore("mode"));
	await assert.rejects(first.answerAll({ late: "yes", mode: "bike" }, "strict"), answeredBefore("mode"));
	assert.deepEqual([await first.answered(), await second.answered()], [["mode"], ["mode"]]);
	assert.equal(second.ledger().total, 500_000);
	await second.answer("late", "no");
	assert.deepEqual(second.ledger().spends.map(({ round }) => round), [1, 2]);
});

test("asked fresh, every round is drawn and charged, and within a round the same report goes out", async () => {
	const [first, second] = await rounds(fresh, [1, 2]);
	const report = await first.answer("mode", "bike");
	assert.deepEqual(await first.answer("mode", "car", "open"), report);
	assert.deepEqual(await second.answered(), []);
	assert.notEqual((await second.answer("mode", "bike")).id, report.id);
	assert.equal(second.ledger().total, 1_000_000);
	assert.match(second.explain("strict", "mode"), /Every round is a new draw and costs ε = 0\.5 again\.\nYour device stops/);
});

/** Random bytes with which every draw over the permanent output keeps it. */
const faithful = () => {
	let opened = false;
	return (count) => {
		if (opened) return new Uint8Array(count);
		opened = true;
		return crypto.getRandomValues(new Uint8Array(count));
	};
};
const answers = { direct: "b", hashed: "9", basket: ["milk"], rooms: 7.2 };

test("asked in rounds, an answer that does not change has one permanent output, and a first and a later price", async () => {
	const store = memoryStore();
	const outputs = new Set();
	for (const round of [1, 2, 3]) {
		const device = await openDevice(tracked, { store, round, random: faithful() });
		await device.changeCap(100);
		const report = await device.answerAll(answers, "open");
		const said = report.answers.filter(({ question }) => question !== "basket").map(({ output }) => output);
		outputs.add(said.join());
		const spends = device.ledger().spends.slice(-4).map(({ micro_epsilon }) => micro_epsilon);
		const levels = tracked.questions.map((question) => question.levelOf("open"));
		assert.deepEqual(spends, levels.map(({ charge, stages }) => (round === 1 ? charge : stages.prices[1])));
	}
	assert.equal(outputs.size, 1);
});

test("the permanent output is another one on another device, and each level has a first price of its own", async () => {
	const settle = async () => {
		const device = await openDevice(tracked, { random: faithful() });
		return (await device.answer("hashed", "9", "open")).answers[0].output;
	};
	const outputs = await Promise.all(Array.from({ length: 100 }, settle));
	assert.ok(new Set(outputs).size > 10); // of 27 hash functions; ten of them or fewer: below 1e-30
	const [one, two] = await rounds(tracked, [1, 2], { random: faithful() });
	await one.answer("direct", "a", "strict");
	assert.equal((await two.quote())([["direct", "strict"]]).cost, tracked.question("direct").levelOf("strict").stages.prices[1]);
	assert.equal((await two.quote())([["direct", "open"]]).cost, 1_000_000);
});

test("stages that do not make the published weights, or that keep no promise, are refused", async () => {
	const refused = (change, message) => assert.rejects(readSurvey(changed("tracked.json", change)), named("SurveyError", message));
	const of = (name, edit) => ({ questions }) => edit(questions.find((question) => question.name === name));
	for (const name of ["direct", "hashed", "rooms"]) {
		await refused(of(name, ({ stages }) => (stages.open.instant.other += 2 ** 26)), /both stages make together/);
		await refused(of(name, ({ stages }) => (stages.open.instant.other += 1)), /whole weights/);
		await refused(of(name, ({ stages }) => delete stages.open.permanent), /permanent/);
		await refused(of(name, ({ stages }) => delete stages.open), /open/);
		await refused(of(name, (question) => delete question.stages), /stages/);
		await refused(of(name, ({ levels }) => (levels.open = "0.9")), /promised epsilon/);
		await refused(of(name, (question) => (question.permanent = "3")), /permanent/);
	}
	await refused(of("basket", ({ stages }) => (stages.open.permanent.raised[0] += 2 ** 16)), /both stages make together/);
	await refused(of("direct", ({ mechanism }) => (mechanism.open = "oue")), /tracked answers need one of krr/);
	const borrowed = ({ questions: [{ mechanism, weights, stages }, , , rooms] }) => Object.assign(rooms, { mechanism, weights, stages, buckets: 3 });
	await refused(borrowed, /rooms, level.*mechanism must be one of/);
	await refused((document) => (document.hide_level = JSON.parse(surveyText("hidden.json")).hide_level), /hide_level/);
	await refused((document) => delete document.repeat, /stages/);
	for (const rule of ["often", "once", null, 1]) await refused((document) => (document.repeat = rule), /repeat/);
});

test("a report's id is a hash of its receipt, which is 64 digits that only this device can make", async () => {
	const [device, later] = await rounds(commute, [1, 2]);
	const report = await device.answer("mode", "bike");
	const receipt = await device.receipt(report);
	assert.match(receipt, /^[0-9a-f]{64}$/);
	const hash = createHash("sha256").update(`pldp receipt\0${commute.hash}\0${receipt}`).digest("hex");
	assert.equal(report.id, hash.slice(0, 32));
	assert.equal(await later.receipt(report), receipt);
	assert.deepEqual(await later.sent("mode"), { report, round: 1 });
	assert.equal(await later.sent("late"), null);
	await assert.rejects((await openDevice(commute)).receipt(report), named("AnswerError", /one that this device has made/));
});

test("an answer that is withdrawn is forgotten and can be given again, at a new price", async () => {
	const store = memoryStore();
	const device = await openDevice(commute, { store });
	const report = await device.answerAll({ mode: "bike", late: "yes" }, "strict");
	const receipt = await device.receipt(report);
	assert.equal(await device.withdraw("late"), receipt);
	assert.deepEqual(await device.answered(), []);
	const { sent: [{ withdrawn, answers: said }] } = JSON.parse(await store.read());
	assert.deepEqual([withdrawn, ...said.map(({ output }) => output)], [true, null, null]);
	await assert.rejects(device.withdraw("late"), named("AnswerError", /one that this device has answered, not 'late'/));
	const again = await device.answer("mode", "bike");
	assert.notEqual(again.id, report.id);
	assert.equal(device.ledger().total, 1_500_000);
	assert.equal(await device.receipt(report), receipt);
});

test("rounds are whole numbers from 1 on and do not go back", async () => {
	for (const round of [0, -1, 1.5, "1", null, NaN]) await assert.rejects(openDevice(commute, { round }), named("AnswerError", /round/));
	const [first, second] = await rounds(fresh, [1, 2]);
	await second.answer("mode", "bike");
	await assert.rejects(first.answer("mode", "bike"), named("DeviceStateError", /not go back to 1: this device has answered in 2/));
});

test("another round or another edition asks other questions of some people", async () => {
	const hidden = await survey("hidden.json");
	const edited = await readSurvey(changed("hidden.json", (document) => (document.title += "!")));
	const picks = { rounds: new Set(), editions: new Set() };
	const store = memoryStore();
	for (let round = 1; round <= 40; round += 1) {
		picks.rounds.add((await openDevice(hidden, { store, round })).asked.join());
		picks.editions.add((await openDevice(edited, { store, round })).asked.join());
	}
	assert.ok(picks.rounds.size > 1 && picks.editions.size > 1); // all alike with a probability of 6^-39
});

test("where levels are hidden, all answers go into one report with one level, charged alike at every level", async () => {
	const hidden = await survey("hidden.json");
	const devices = await Promise.all([0, 1].map(() => openDevice(hidden)));
	for (const [place, device] of devices.entries()) {
		await device.changeCap(null, { levelCap: 1000 });
		await device.answer(device.asked[0], "a", hidden.levels[place].name);
		const [{ question, level, micro_epsilon }] = device.ledger().spends;
		assert.deepEqual([question, level, micro_epsilon], ["", "", (await device.quote({ newLabel: true }))([[device.asked[0], null]]).cost]);
	}
	const [device] = devices;
	const [one, two] = device.asked;
	const mixed = await openDevice(hidden);
	const levels = mixed.asked.map((name, place) => [name, hidden.levels[place].name]);
	await assert.rejects(mixed.answerAll(new Map(mixed.asked.map((name) => [name, "a"])), new Map(levels)), named("AnswerError", /one level/));
	await assert.rejects(device.answer(two, "a", "strict"), named("AnswerError", /one report where levels are hidden, and it was sent/));
});

const lottery = await survey("lottery.json");
/** Random bytes by which the lottery stays at the strictest level, or goes on to the chosen one. */
const all = (byte) => (count) => new Uint8Array(count).fill(byte);
const [stops, goesOn] = [all(0), all(255)];

test("a lottery draws the level that is used and shown once, and asks for the same bytes whatever is chosen", async () => {
	for (const [place, { name }] of lottery.levels.entries()) {
		assert.deepEqual([lottery.hiding.draw(place, stops), lottery.hiding.draw(place, goesOn)], [0, place]);
		let drawn = 0;
		lottery.hiding.draw(place, (count) => ((drawn += count), goesOn(count)));
		assert.equal(drawn, 14);
		const [first, second] = await rounds(lottery, [1, 2], { random: stops });
		const { answers } = await first.answerAll({ direct: "a", some: "b" }, name);
		assert.deepEqual(answers.map(({ level }) => level), ["strict", "strict"]);
		assert.equal((await second.answer("direct", "c", "open")).answers[0].level, "strict");
		assert.deepEqual(second.ledger().spends.map(({ level, micro_epsilon }) => [level, micro_epsilon]), Array(3).fill(["strict", 500_000]));
	}
});

test("a stricter choice than the level in use is refused and costs nothing until a new draw is asked for", async () => {
	const [first, second] = await rounds(lottery, [1, 2], { random: goesOn });
	assert.deepEqual((await first.quote())([["direct", "open"]]), { cost: 2_000_000, level: null, drawn: null });
	await first.answer("direct", "a", "open");
	await assert.rejects(second.answer("direct", "a", "middle"), named("AnswerError", /'middle' is stricter than 'open', which this device uses/));
	assert.equal(second.ledger().total, 2_000_000);
	assert.deepEqual((await second.quote())([["direct", "middle"]]), { cost: Infinity, level: null, drawn: "open" });
	assert.deepEqual((await second.quote({ newLabel: true }))([["direct", "middle"]]), { cost: 1_000_000, level: null, drawn: "open" });
	assert.equal((await second.answerAll({ direct: "a" }, "middle", { newLabel: true })).answers[0].level, "middle");
	const mixed = new Map([["direct", "strict"], ["some", "open"]]);
	await assert.rejects((await openDevice(lottery)).answerAll({ direct: "a", some: "a" }, mixed), named("AnswerError", /one level where a lottery draws it/));
});

test("a lottery whose weight does not keep its promise, or that may protect less than was chosen, is refused", async () => {
	const refused = (change) => assert.rejects(readSurvey(changed("lottery.json", change)), named("SurveyError", /hide_level/));
	for (const stop of [0, -1, 1.5, "1", null, true, 2 ** 53]) await refused(({ hide_level }) => (hide_level.stop = stop));
	await refused(({ hide_level }) => (hide_level.stop -= 1));
	await refused(({ hide_level }) => (hide_level.epsilon = "1"));
	await refused(({ hide_level }) => delete hide_level.lottery);
	await refused(({ questions: [, some] }) => Object.assign(some.levels, { strict: "1.5", middle: "1" }));
	await refused(({ questions: [, some] }) => ["levels", "mechanism", "weights"].forEach((part) => delete some[part].middle));
	await refused(({ levels }) => (levels.middle.epsilon = "0.5"));
	const weaker = await readSurvey(changed("lottery.json", ({ hide_level }) => (hide_level.stop += 1)));
	assert.match((await openDevice(weaker)).explain("open", "direct"), /Who sees "strict" cannot know that you chose it; who sees "open" can\./);
});

const { publicKey, sign } = await makeSigner();
const document = JSON.parse(surveyText("commute.json"));
const edition = async (change, options = {}) => {
	const copy = structuredClone(document);
	change(copy);
	return readSurvey(await sign(copy), options);
};

test("a key that signs is the author; only a trusted one has an account of its own", async () => {
	const plain = await edition(() => {});
	const trusted = await edition(() => {}, { trustedKey: publicKey });
	assert.deepEqual([plain.author, plain.account, plain.trusted], [publicKey, "", false]);
	assert.deepEqual([trusted.author, trusted.account, trusted.trusted], [publicKey, publicKey, true]);
	assert.deepEqual([commute.author, commute.account, commute.signer], [commute.hash, "", ""]);
	const store = memoryStore();
	await (await openDevice(commute, { store, cap: 2 })).answer("mode", "bike", "open");
	const device = await openDevice(trusted, { store });
	await device.answer("mode", "bike", "open");
	assert.match(device.explain("open", "mode"), /stops at ε = 2 for the signer of this survey; 2 is spent\.$/);
	const refused = (await openDevice(plain, { store })).answer("late", "yes");
	await assert.rejects(refused, named("BudgetError", /the lifetime cap leaves 0 of 2/));
});

test("in editions of one signer a question is the same one until it is changed, and its name keeps its labels", async () => {
	const store = memoryStore();
	const open = async (change) => openDevice(await edition(change), { store });
	await (await open(() => {})).answer("mode", "bike");
	await assert.rejects((await open((copy) => (copy.title = "New"))).answer("mode", "bike"), answeredBefore("mode"));
	await assert.rejects((await open(({ questions }) => questions.reverse())).answer("mode", "bike"), answeredBefore("mode"));
	const relabelled = await open(({ questions: [mode] }) => (mode.values[0] += "!"));
	await assert.rejects(relabelled.answer("mode", "bike"), named("AnswerError", /question 'mode' had other answers to choose from/));
	const reworded = await open(({ questions: [mode] }) => (mode.text += " Really?"));
	await reworded.answer("mode", "bike");
	assert.equal(reworded.ledger().total, 1_000_000);
});

/*
 * An author who wants to know which of 16 values each person has, and changes the survey as often as it takes.
 */
const VALUES = 16;
const DEVICES = process.env.PLDP_LONG ? 600 : 100;
/** One-sided. */
const FALSE_ALARM = 1e-6;

const weightOf = (labels) => Math.ceil(2 ** 53 / (Math.E + labels - 1)) + 1000;
const ask = (name, text, values) => ({
	name, text, kind: "choice", values, levels: { a: "1" }, mechanism: { a: "krr" }, weights: { a: { other: weightOf(values.length) } },
});
const asking = (...questions) => ({ pldp: 1, title: "t", levels: { a: { epsilon: "1" } }, questions });
const labels = Array.from({ length: VALUES }, (_, value) => `value ${value}`);
const rotate = (list, by) => [...list.slice(by), ...list.slice(0, by)];

/** Editions with which label each value is answered. */
const DIRECT = Array.from({ length: 8 }, (_, turn) => [
	{ document: asking(ask("q", "Which?", rotate(labels, turn))), labelOf: (value) => (value - turn + VALUES) % VALUES },
	{ document: asking(ask("q", `Which? ${turn}`, labels)), labelOf: (value) => value },
	{ document: asking(ask(`other ${turn}`, "", ["x", "y"]), ask("q", "Which?", labels)), labelOf: (value) => value },
]).flat();
/** Under each name two questions whose answers everybody knows, and one for each bit of the value. */
const BITS = Array.from({ length: 10 }, (_, turn) => [
	...[0, 1].map((label) => ({ document: asking(ask(`q${turn}`, `Is 1 + 1 = ${3 - label}?`, ["no", "yes"])), labelOf: () => label })),
	...[0, 1, 2, 3].map((bit) => ({
		document: asking(ask(`q${turn}`, "Which half?", labels.filter((_, value) => value % 2 ** (bit + 1) === 0).slice(0, 1).concat(`half ${bit}`))),
		labelOf: (value) => (value >> bit) & 1,
	})),
]).flat();

const likeliest = (reports) => {
	const scores = labels.map((_, value) => reports.filter(({ labelOf, output }) => labelOf(value) === output).length);
	const best = scores.flatMap((score, value) => (score === Math.max(...scores) ? [value] : []));
	return best[Math.floor(Math.random() * best.length)];
};

/** The most often that anybody can guess a value, of which all are as likely, after so much ε. */
const boundOf = (micro) => 1 / (1 + (VALUES - 1) * Math.exp(-micro / 1e6));
const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** How often the author is right, and how often the ledgers allow. */
const attack = async (editions, options, guess = likeliest) => {
	const [right, allowed] = [[], []];
	for (let person = 0; person < DEVICES; person += 1) {
		const value = Math.floor(Math.random() * VALUES);
		const { reports, spent } = await collect(editions, value, options);
		right.push(Number(guess(reports) === value));
		allowed.push(boundOf(spent));
	}
	return { right: mean(right), allowed: mean(allowed) };
};

const collect = async (editions, value, { cap }) => {
	const [store, reports] = [memoryStore(), []];
	let device;
	for (const { survey: asked, name, labelOf } of editions) {
		device = await openDevice(asked, { store, cap });
		const values = asked.question(name).values;
		const outcome = await device.answer(name, values[labelOf(value)]).catch((error) => error.name);
		if (outcome === "BudgetError") break;
		if (outcome !== "AnswerError") reports.push({ labelOf, output: outcome.answers[0].output });
	}
	return { reports, spent: device.ledger().total };
};

const readAll = (editions, read) =>
	Promise.all(editions.map(async ({ document: file, labelOf }) => ({ survey: await read(file), name: file.questions.at(-1).name, labelOf })));
/** The exact probability of so many right guesses or more, if each were right as often as is allowed. */
const tail = (hits, rate) => {
	let [logarithm, sum] = [DEVICES * Math.log1p(-rate), 0];
	for (let count = 0; count <= DEVICES; count += 1) {
		if (count >= hits) sum += Math.exp(logarithm);
		logarithm += Math.log(((DEVICES - count) / (count + 1)) * (rate / (1 - rate)));
	}
	return sum;
};
const within = ({ right, allowed }) => tail(Math.round(right * DEVICES), allowed) >= FALSE_ALARM;

for (const [way, read] of Object.entries({ unsigned: (file) => readSurvey(JSON.stringify(file)), signed: async (file) => readSurvey(await sign(file)) })) {
	test(`no author of ${way} editions guesses better than the spent ε allows`, async () => {
		for (const [editions, cap] of [[DIRECT, 1], [DIRECT, 3], [BITS, 3]]) {
			const found = await attack(await readAll(editions, read), { cap });
			console.log(`${way} editions, cap ${cap}: right ${found.right.toFixed(3)}, allowed ${found.allowed.toFixed(3)}`);
			assert.ok(within(found), JSON.stringify({ way, cap, ...found }));
		}
	});
}

test("with a memo by name and value, the same author reads nearly everybody, far beyond what was charged", async () => {
	const surveys = await readAll(BITS, (file) => readSurvey(JSON.stringify(file)));
	const right = [];
	const allowed = [];
	for (let person = 0; person < DEVICES; person += 1) {
		const [value, memo] = [Math.floor(Math.random() * VALUES), new Map()];
		const answer = async ({ survey: asked, name, labelOf }) => {
			const key = `${name} ${labelOf(value)}`;
			if (!memo.has(key)) {
				const report = await (await openDevice(asked)).answer(name, asked.question(name).values[labelOf(value)]);
				memo.set(key, report.answers[0].output);
			}
			return memo.get(key);
		};
		let guess = 0;
		for (let turn = 0; turn < surveys.length; turn += 6) {
			const [no, yes, ...bits] = surveys.slice(turn, turn + 6);
			const known = [await answer(no), await answer(yes)];
			if (known[0] === known[1]) continue;
			for (const [bit, each] of bits.entries()) guess |= known.indexOf(await answer(each)) << bit;
			break;
		}
		right.push(Number(guess === value));
		allowed.push(boundOf(memo.size * 1e6));
	}
	assert.ok(mean(right) >= 0.9, `${mean(right)}`);
	assert.ok(!within({ right: mean(right), allowed: mean(allowed) }), `${mean(right)} of ${mean(allowed)}`);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { openDevice, readSurvey } from "../src/index.js";
import { changed, named, survey, surveyText } from "../vectors/support.js";

const kinds = await survey("kinds.json");
const questions = JSON.parse(surveyText("kinds.json")).questions;
const change = (name, edit) => changed("kinds.json", (file) => edit(file.questions.find((each) => each.name === name)));
const refused = (text, message) => assert.rejects(readSurvey(text), named("SurveyError", message));

test("a question shows what its kind needs", () => {
	const { values, kind, levels } = kinds.question("basket");
	assert.deepEqual([kind, values.length, levels[1].charge], ["choices", 9, 13_400_000]);
	const { low, high, unit, buckets, outside } = kinds.question("income");
	assert.deepEqual([low, high, unit, buckets, outside], ["-10", "90.5", "k€", 16, "refuse"]);
});

test("of several wrong questions the first is refused, whatever is loaded first", async () => {
	const wrong = changed("kinds.json", (file) => file.questions.forEach((each) => (each.mechanism.open = "krr")));
	await refused(wrong, new RegExp(`^question ${questions[0].name}, level.open: mechanism must be one of`));
	const backwards = changed("kinds.json", (file) => file.questions.reverse().forEach((each) => (each.mechanism.open = "krr")));
	await refused(backwards, new RegExp(`^question ${questions.at(-1).name}, level.open: mechanism must be one of`));
});

test("a promise that is one percent smaller than what the weights keep is refused, at every level", async () => {
	for (const { name, levels } of questions.filter((each) => each.name !== "party")) {
		for (const level of Object.keys(levels)) {
			const less = (text) => String(Number((Number(text) * 0.99).toFixed(6)));
			await refused(change(name, (question) => (question.levels[level] = less(question.levels[level]))), new RegExp(name));
		}
	}
	for (const name of ["basket", "illness", "party"]) {
		for (const place of [0, 1]) {
			const edit = ({ budgets }) => (budgets.open[place] = String(Number((budgets.open[place] * 0.99).toFixed(6))));
			await refused(change(name, edit), /promised epsilon/);
		}
	}
	await refused(change("faith", ({ budgets }) => (budgets.open[0] = "0.99")), /promised epsilon/);
});

test("weights with less noise than was promised are refused, however they are changed", async () => {
	const tampered = {
		basket: ({ kept }) => (kept[0] += 1),
		pets: ({ raised }) => (raised[1] -= 1),
		illness: ({ other }) => (other[0] -= 100),
		faith: ({ other }) => (other[0] -= 100),
		party: ({ other }) => (other[2] -= 100),
		income: (weights) => (weights.peak += 2 ** 30),
		rooms: (weights) => ((weights.first -= 7), (weights.step += 2)),
		hours: (weights) => ((weights.outside -= weights.width), (weights.inside += 23)),
		age: (weights) => ((weights.outside -= weights.width), (weights.inside += 119)),
		spent: (weights) => ((weights.outside -= weights.width), (weights.inside += 255)),
	};
	for (const [name, tamper] of Object.entries(tampered)) {
		await refused(change(name, ({ weights }) => tamper(weights.open)), /promised epsilon/);
	}
});

test("weights that are those of no channel are refused", async () => {
	for (const { name, weights } of questions) {
		for (const [key, entry] of Object.entries(weights.open)) {
			const bad = [-1, 0.5, "1", null, 2 ** 53, 1e300, []];
			const wrong = Array.isArray(entry) ? [...bad.map((one) => [one, ...entry.slice(1)]), entry.slice(1), [...entry, 1], 1] : bad;
			for (const each of wrong) await refused(change(name, (question) => (question.weights.open[key] = each)));
			await refused(change(name, (question) => delete question.weights.open[key]), /weights/);
		}
		await refused(change(name, (question) => (question.weights.open.more = 1)), /weights/);
		await refused(change(name, (question) => (question.mechanism.open = "krr")), /mechanism/);
	}
	for (const edit of [({ first, step }) => ({ first: first - 7, step: step + 1 }), ({ first, step }) => ({ first, step: -step })]) {
		await refused(change("rooms", (question) => (question.weights.open = edit(question.weights.open))), /weights/);
	}
	// Rounded to a double the sum would be 2⁵³.
	const sum = { width: 1, inside: 2 ** 53 - 1, outside: 1 };
	await refused(change("hours", (question) => (question.weights.open = sum)), /weights must be/);
});

test("bounds, buckets, units and budgets have one spelling", async () => {
	const odd = ["0.50", "1e3", "+1", " 1", "", "-0", "01", ".5", "1.", "NaN", "Infinity", "1000000000000000.1", "0.0000000001", 7, null];
	for (const low of odd) await refused(change("income", (question) => (question.low = low)), /low/);
	for (const low of ["90.5", "91"]) await refused(change("income", (question) => (question.low = low)), /low/);
	for (const buckets of [1, 4097, 16.5, "16"]) await refused(change("income", (question) => (question.buckets = buckets)));
	for (const outside of ["keep", null]) await refused(change("income", (question) => (question.outside = outside)), /outside/);
	for (const unit of ["", "x".repeat(65), 1]) await refused(change("income", (question) => (question.unit = unit)), /unit/);
	await refused(change("income", (question) => (question.values = ["a", "b"])), /values/);
	await refused(change("pets", (question) => (question.low = "0")), /low/);
	for (const budget of ["0.20", "infinity", "2.1", "0", null, 1]) {
		await refused(change("illness", (question) => (question.budgets.open[0] = budget)));
	}
	await refused(change("illness", (question) => delete question.budgets.strict), /strict/);
	await refused(change("illness", (question) => question.budgets.open.pop()));
});

test("levels of numbers whose outputs differ in form cannot be hidden", async () => {
	const { hide_level } = JSON.parse(surveyText("hidden.json"));
	const widths = ({ weights }) => new Set(Object.values(weights).map(({ width }) => width)).size;
	const different = questions.filter((question) => question.kind === "number" && widths(question) > 1);
	assert.ok(different.length);
	for (const question of different) {
		const file = { ...JSON.parse(surveyText("kinds.json")), hide_level, questions: [question] };
		await refused(JSON.stringify(file), /hide_level/);
	}
});

test("what is no answer to the kind is refused, and never repeated", async () => {
	const device = await openDevice(kinds);
	const wrong = {
		income: [NaN, Infinity, -10.001, 91, "31337", null, undefined, true, 31337n, [31337], new Date()],
		rooms: [NaN, "31337", null, [4]],
		basket: ["bread", ["bread", "31337"], ["bread", "bread"], null, undefined, 31337, {}, [["bread"]], new Map([["bread", 1]])],
		illness: ["31337", ["HIV"], 0, null],
	};
	for (const [name, answers] of Object.entries(wrong)) {
		for (const answer of answers) {
			const silent = (error) => error.name === "AnswerError" && !String(error.stack).includes("31337");
			await assert.rejects(device.answer(name, answer), silent, `${name} ${String(answer)}`);
		}
	}
	assert.deepEqual(device.ledger().spends, []);
	for (const answer of [-1, 100, Infinity, -Infinity]) assert.ok(await device.answer("rooms", answer));
});

test("a set is charged as a whole", async () => {
	const device = await openDevice(kinds);
	const { answers } = await device.answer("basket", new Set(["beer", "bread"]), "open");
	assert.match(answers[0].output, /^[0-9a-f]{4}$/);
	assert.equal(device.ledger().total, 13_400_000);
});

test("every kind is explained in the words of Python", async () => {
	const device = await openDevice(kinds);
	assert.match(device.explain("open", "basket"), /tick "news", about 100 reports have it ticked; .* about 0 \(ε = infinite\)/);
	assert.match(device.explain("open", "basket"), /\(1 more boxes are protected in the same way\.\)\nAll boxes together cost ε = 13\.4\./);
	assert.match(device.explain("open", "illness"), /A report "none" proves the value "none" \(ε infinite\)\./);
	assert.match(device.explain("open", "faith"), /between "a" and another value by more than 2\.72 times \(ε = 1\)\./);
	assert.match(device.explain("open", "income"), /one of 16 steps between -10 and 90\.5 k€, and/);
});

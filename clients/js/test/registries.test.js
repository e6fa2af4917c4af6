import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS } from "../src/kinds/registry.js";
import { MECHANISMS } from "../src/mechanisms/registry.js";

/** Every module that a kind can load; there is another one if labels have budgets, or a whole set of them has one. */
const modules = (kind) => Promise.all([[], [["budgets", new Map()]], [["budget", "set"]]].map((keys) => KINDS.get(kind)(new Map(keys))));

test("every kind has all that a question asks of it", async () => {
	for (const kind of KINDS.keys()) {
		for (const { takes, keys, options, read, explain } of await modules(kind)) {
			assert.deepEqual([keys, options].map(Array.isArray), [true, true], kind);
			assert.deepEqual([typeof takes, typeof read, typeof explain], ["string", "function", "function"], kind);
		}
	}
});

test("every mechanism has a builder of its name, and takes what some kind encodes", async () => {
	const encoded = new Set((await Promise.all([...KINDS.keys()].map(modules))).flat().map(({ takes }) => takes));
	for (const [name, [takes, , load, ...weights]] of MECHANISMS) {
		const build = (await load())[name];
		assert.equal(build?.length, 2 + weights.length, `${name}: sure, size and each weight`);
		assert.ok(encoded.has(takes), name);
	}
	assert.deepEqual(new Set([...MECHANISMS.values()].map(([takes]) => takes)), encoded);
});

test("every channel tells the form of its reports, and draws within it", async () => {
	const { survey } = await import("../vectors/support.js");
	const questions = (await Promise.all(["hidden.json", "kinds.json"].map(survey))).flatMap((each) => each.questions);
	for (const { name, levels } of questions) {
		for (const { channel: { form, draw } } of levels) {
			for (const fill of [0, 0x55, 0xff]) {
				const output = draw(1n, (count) => new Uint8Array(count).fill(fill));
				if (form.bits) assert.equal(output.length, 2 * Math.ceil(form.bits / 8), name);
				else assert.ok(output >= 0 && output < form.integers, name);
			}
		}
	}
});

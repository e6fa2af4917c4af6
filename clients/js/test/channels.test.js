import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../src/bytes.js";
import { microOfPowers, microOfRatio } from "../src/epsilon.js";
import { openDevice, readSurvey } from "../src/index.js";
import { loadMechanisms } from "../src/mechanisms/registry.js";
import { survey } from "../vectors/support.js";

/** Two-sided false-alarm rate of 1e-6. */
const Z = 4.8917;

test("logarithms are rounded up to whole millionths, and exact where they are", () => {
	assert.equal(microOfPowers([[3n, 1n, 1n]]), 1098613); // ln 3 = 1.0986122886…
	assert.equal(microOfPowers([[3n, 1n, 1n], [1n, 2n, 1n]]), 405466); // ln 1.5 = 0.4054651081…
	assert.equal(microOfPowers([[1n, 1n, 1000000n]]), 0);
	assert.equal(microOfPowers([[2n ** 106n, 1n, 1n]]), 73473602); // 106 ln 2 = 73.4736011…
	assert.equal(microOfPowers([[1n, 3n, 1n]]), 0);
	assert.deepEqual([microOfRatio(3n, 1n), microOfRatio(1n, 0n)], [1098613, Infinity]);
});

/** What can be answered: places, or sets as bits. */
const valuesOf = ({ kind, values, buckets }) => {
	const size = values?.length ?? buckets;
	return kind === "choices" ? [0n, 1n, (1n << BigInt(size)) - 1n] : [...Array(size).keys()];
};

for (const name of ["hidden.json", "kinds.json"]) {
	test(`in ${name}, every channel takes the same number of random bytes for every value and outcome`, async () => {
		for (const question of (await survey(name)).questions) {
			for (const { channel } of question.levels) {
				const counts = new Set();
				const outputs = new Set();
				for (const value of valuesOf(question)) {
					for (const fill of [0, 0x55, 0xff, null]) {
						let count = 0;
						const random = (wanted) => {
							count += wanted;
							return fill === null ? systemRandom(wanted) : new Uint8Array(wanted).fill(fill);
						};
						outputs.add(typeof channel.draw(value, random));
						counts.add(count);
					}
				}
				assert.equal(counts.size, 1);
				assert.equal(outputs.size, 1);
			}
		}
	});
}

const keptMoreOften = (channel, chance) => {
	const draws = 20_000;
	let kept = 0;
	for (let draw = 0; draw < draws; draw += 1) kept += Number(channel.draw(1, systemRandom) === 1);
	return (kept / draws - chance) / Math.sqrt((chance * (1 - chance)) / draws);
};

test("the truth is kept as often as the weights say, and the test rejects a five percent weaker channel", async () => {
	const channelOf = await loadMechanisms(["krr"]);
	const of = (chance) => channelOf("", "label", "krr", 2, new Map([["other", Math.round((1 - chance) * 2 ** 53)]]), [20e6]);
	assert.ok(Math.abs(keptMoreOften(of(0.73), 0.73)) <= Z);
	assert.ok(Math.abs(keptMoreOften(of(0.73 * 0.95), 0.73)) > Z);
});

test("an answer with 1,024 values takes less than two milliseconds", async () => {
	const values = Array.from({ length: 1024 }, (_, place) => `v${place}`);
	const question = { name: "q", text: "", kind: "choice", values, levels: { a: "1" }, mechanism: { a: "oue" } };
	const weights = { a: { other: Math.ceil(2 ** 32 / (Math.E + 1)), truth: 2 ** 31 } };
	const document = { pldp: 1, title: "t", levels: { a: { epsilon: "1" } }, questions: [{ ...question, weights }] };
	const large = await readSurvey(JSON.stringify(document));
	const times = [];
	for (let place = 0; place < 101; place += 1) {
		const device = await openDevice(large);
		const start = process.cpuUsage();
		await device.answer("q", values[place]);
		const { user, system } = process.cpuUsage(start); // in microseconds, whatever else runs on the machine
		times.push((user + system) / 1000);
	}
	const median = times.sort((a, b) => a - b)[50];
	console.log(`an answer with 1,024 values takes ${median.toFixed(3)} ms`);
	assert.ok(median < 2, `${median} ms`);
});

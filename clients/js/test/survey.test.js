import assert from "node:assert/strict";
import { test } from "node:test";
import { PldpError, readSurvey } from "../src/index.js";
import { changed, named, survey, surveyText } from "../vectors/support.js";

const publicKey = surveyText("commute.pub");
const signed = surveyText("commute.signed.json");

test("a survey has the hash that Python gives it", async () => {
	const commute = await survey("commute.json");
	assert.equal(commute.hash, "c21931c1e5f0384f367c01ecf16ca6b6c513225f79a3cf9ee5bd143df7f185ca");
	assert.deepEqual(commute.levels.map(({ name }) => name), ["strict", "standard", "open"]);
	assert.equal(commute.total, 4_000_000);
});

test("a signed survey is accepted with the key that signed it, in any case of letters", async () => {
	for (const options of [{ trustedKey: publicKey }, { trustedKey: publicKey.toUpperCase() }, {}]) {
		assert.equal((await readSurvey(signed, options)).title, "How people get to work");
	}
});

test("a trusted key that is missing, wrong or not used is never ignored", async () => {
	const other = publicKey.replace(/./g, (digit) => (digit === "0" ? "1" : "0"));
	for (const trustedKey of [other, "", undefined, null, publicKey.slice(2)]) {
		await assert.rejects(readSurvey(signed, { trustedKey }), named("SignatureError"));
	}
	const missing = named("SignatureError", /missing/);
	await assert.rejects(readSurvey(surveyText("commute.json"), { trustedKey: publicKey }), missing);
});

test("a signed survey is refused after any change", async () => {
	const changes = [
		(file) => (file.survey.title += "!"),
		(file) => (file.survey.questions[1].weights.strict.other += 1),
		(file) => (file.signature.signature = file.signature.signature.replace(/^../, "00")),
		(file) => (file.signature.algorithm = "none"),
	];
	for (const change of changes) {
		await assert.rejects(readSurvey(changed("commute.signed.json", change)), named("SignatureError"));
	}
	for (const change of [(file) => (file.more = 1), (file) => (file.signature = 1), (file) => delete file.signature.algorithm]) {
		await assert.rejects(readSurvey(changed("commute.signed.json", change)), named("SurveyError"));
	}
});

test("where the platform has no Ed25519, a signed survey is refused", async () => {
	const { subtle } = crypto;
	const { importKey } = subtle;
	subtle.importKey = async (_, __, algorithm) => {
		throw new DOMException(`no ${algorithm}`, "NotSupportedError");
	};
	try {
		await assert.rejects(readSurvey(signed), named("SignatureError", /cannot be checked.*NotSupportedError/));
	} finally {
		subtle.importKey = importKey;
	}
});

const weightsOf = (document) => document.questions.flatMap(({ weights }) => Object.values(weights));

/** Move the noise of one channel by one unit; in symmetric unary encoding truth and other move together. */
const move = (name, place, unit) =>
	changed(name, (document) => {
		const weights = weightsOf(document)[place];
		if (weights.chosen || weights.truth + weights.other === 2 ** 32) weights.truth -= unit;
		if (!weights.chosen) weights.other += unit;
	});

for (const name of ["commute.json", "hidden.json"]) {
	const count = weightsOf(JSON.parse(surveyText(name))).length;
	test(`in ${name}, one unit of weight less than the promised noise is refused, one more is not`, async () => {
		for (let place = 0; place < count; place += 1) {
			await assert.rejects(readSurvey(move(name, place, -1)), named("SurveyError", /promised epsilon/));
			await readSurvey(move(name, place, 1));
		}
	});
}

test("what this client does not know is refused with the key that breaks the rule", async () => {
	const cases = [
		[(file) => (file.questions[0].kind = "rank"), /question mode.kind/],
		[(file) => (file.questions[0].mechanism.strict = "laplace"), /mode, level.strict: mechanism/],
		[(file) => (file.questions[0].mechanism.strict = "toString"), /mode, level.strict: mechanism/],
		[(file) => (file.questions[0].weights.strict.more = 1), /mode, level.strict: weights/],
		[(file) => (file.later = 1), /survey.later/],
		[(file) => (file.pldp = 2), /pldp/],
		[(file) => delete file.questions[0].weights, /question mode.weights/],
		[(file) => (file.total_epsilon = "0.1"), /total_epsilon/],
		[(file) => (file.hide_level = null), /hide_level/],
	];
	for (const [change, message] of cases) {
		await assert.rejects(readSurvey(changed("commute.json", change)), named("SurveyError", message));
	}
	for (const text of ["", "[]", "null", "1", '"signature"', "{}", '{"pldp":1,"pldp":1}']) {
		await assert.rejects(readSurvey(text), named("SurveyError"));
	}
	await assert.rejects(readSurvey(undefined), PldpError);
});

test("no number of buckets makes the reader hang", async () => {
	for (const buckets of [0, 1, -1, 4, 67, 2 ** 53]) {
		const odd = changed("hidden.json", ({ questions }) => (questions[3].weights.open.buckets = buckets));
		await assert.rejects(readSurvey(odd), named("SurveyError"));
	}
});

test("reports of different forms, or more leak than the cap, cannot hide a level", async () => {
	const mixed = changed("hidden.json", ({ questions: [direct, , bits] }) => {
		direct.mechanism.open = bits.mechanism.open;
		direct.weights.open = bits.weights.open;
	});
	await assert.rejects(readSurvey(mixed), named("SurveyError", /hide_level/));
	const capped = (cap) => readSurvey(changed("hidden.json", (document) => (document.hide_level.leak_cap = cap)));
	await assert.rejects(capped("1.5"), named("SurveyError", /hide_level/));
	assert.equal((await capped("20")).hiding.channel.promised(), 1_000_000);
});

test("direction marks, invisible characters and labels that differ in joiners only are refused", async () => {
	const labels = (...values) => changed("commute.json", (file) => (file.questions[1].values = values));
	for (const values of [["a\u202eb", "c"], ["a\u200b", "b"], ["a\u{e0041}", "b"], ["نامه‌ها", "نامهها"]]) {
		await assert.rejects(readSurvey(labels(...values)), named("SurveyError"), values[0]);
	}
	assert.deepEqual((await readSurvey(labels("نامه‌ها", "👩‍🔬"))).questions[1].values.length, 2);
});

import { readFileSync } from "node:fs";
import { canonical, toHex, utf8 } from "../src/bytes.js";
import { readSurvey } from "../src/index.js";

/** The text of a survey in test/surveys. */
export const surveyText = (name) => readFileSync(new URL(`../test/surveys/${name}`, import.meta.url), "utf8").trim();

export const survey = (name) => readSurvey(surveyText(name));

/** The same survey with something changed by a function of its plain data. */
export const changed = (name, change) => {
	const document = JSON.parse(surveyText(name));
	change(document);
	return JSON.stringify(document);
};

/** A `localStorage` in memory. */
export const fakeStorage = () => {
	const held = new Map();
	return {
		getItem: (key) => held.get(key) ?? null,
		setItem: (key, text) => void held.set(key, text),
		clear: () => held.clear(),
	};
};

/** Expect a PldpError of this name whose message fits. */
export const named = (name, message = /./) => (error) => {
	if (error.name !== name || !message.test(error.message)) throw error;
	return true;
};

const asMaps = (entry) => {
	if (Array.isArray(entry)) return entry.map(asMaps);
	return entry && typeof entry === "object" ? new Map(Object.entries(entry).map(([key, each]) => [key, asMaps(each)])) : entry;
};

/** A signer with a key: `publicKey`, and `sign(document)`, the text of the signed survey. */
export const makeSigner = async () => {
	const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
	const publicKey = toHex(new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)));
	const sign = async (document) => {
		const bytes = await crypto.subtle.sign("Ed25519", pair.privateKey, utf8(canonical(asMaps(document))));
		const signature = { algorithm: "ed25519", public_key: publicKey, signature: toHex(new Uint8Array(bytes)) };
		return JSON.stringify({ survey: document, signature });
	};
	return { publicKey, sign };
};

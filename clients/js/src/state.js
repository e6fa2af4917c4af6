/** A store's `swap` writes only if its content is still `before`, and says so: nobody spends twice. */
import { fromHex, hmacOf, toHex } from "./bytes.js";
import { fail, PldpError } from "./errors.js";
import { LEVEL_CAP, LIFETIME_CAP } from "./ledger.js";

const [STATE_SCHEMA, SECRET_BYTES, BLOCK_BYTES] = [3, 32, 32];

export const memoryStore = () => {
	let held = null;
	return { read: async () => held, swap: async (before, after) => held === before && ((held = after), true) };
};

export const webStore = (name = "pldp", storage = localStorage) => ({
	name,
	read: async () => storage.getItem(name),
	swap: async (before, after) => storage.getItem(name) === before && (storage.setItem(name, after), true),
});

export const databaseStore = (name = "pldp") => {
	const transact = (work) =>
		new Promise((resolve, reject) => {
			const opening = indexedDB.open("pldp", 1);
			opening.onupgradeneeded = () => opening.result.createObjectStore("texts");
			opening.onerror = () => reject(opening.error);
			opening.onsuccess = () => {
				const transaction = opening.result.transaction("texts", "readwrite", { durability: "strict" });
				const texts = transaction.objectStore("texts");
				const found = texts.get(name);
				let result;
				found.onsuccess = () => (result = work(found.result ?? null, texts));
				transaction.oncomplete = () => (opening.result.close(), resolve(result));
				transaction.onabort = () => reject(transaction.error);
			};
		});
	const swap = (before, after) => transact((found, texts) => found === before && (texts.put(after, name), true));
	return { name, read: () => transact((found) => found), swap };
};

/** One at a time over all tabs, where there are Web Locks. */
export const inTurn = (name, work) => {
	const locks = name && globalThis.navigator?.locks;
	return locks ? locks.request(`pldp ${name}`, work) : work();
};

/**
 * `understand` gives what is known from what was found, or nothing if that is something else. The work of a change returns
 * its result and the next content, if any; the store has that before the result is out.
 */
export const openStore = (store, fresh, understand) => {
	let known = fresh;
	const access = (what, action) =>
		action().catch((error) => {
			if (error instanceof PldpError) throw error;
			fail("DeviceStateError", `the store cannot be ${what} (${error?.name})`);
		});
	const parse = async (text) =>
		understand(JSON.parse(text), known) || fail("DeviceStateError", "the store cannot be understood: this is something else");
	const change = (work) =>
		inTurn(store.name, async () => {
			for (;;) {
				const before = await access("read", store.read);
				if (before !== null) known = await access("understood", () => parse(before));
				const [result, next] = await work(known);
				if (next && !(await access("written", () => store.swap(before, JSON.stringify(next))))) continue;
				if (next) known = next;
				return result;
			}
		});
	return { known: () => known, change };
};

const isCount = (entry) => Number.isSafeInteger(entry) && entry >= 0;
const isHex = (entry) => typeof entry === "string" && /^([0-9a-f]{2})+$/.test(entry);
const areTexts = (...entries) => entries.every((entry) => typeof entry === "string");
const isSpend = ({ survey, question, level, micro_epsilon, round, account }) =>
	areTexts(survey, question, level, account) && isCount(micro_epsilon) && isCount(round);
const isAnswer = ({ question, identity, scale, level, output }) =>
	areTexts(question, identity, scale, level) && (output === null || isCount(output) || isHex(output));
const isSent = ({ survey, author, repeat, round, answers, withdrawn }) =>
	areTexts(survey, author, repeat) && isCount(round) && answers.every(isAnswer) && typeof withdrawn === "boolean";

const isLabel = ({ author, levels, label, told }) => areTexts(author, levels, label) && told.every((row) => row.every(isCount));

/**
 * What version 1 had spent is kept; its memo gave values away and is not. Version 2 kept no labels. Of a hidden level the
 * label is kept as it was sent: anything derived from the level would give it to a thief of the state who tries each one.
 */
const understandState = ({ pldp_device, secret, cap, level_cap = LEVEL_CAP, ledger, sent = [], labels = [] }, known) => {
	if (![1, 2, STATE_SCHEMA].includes(pldp_device)) fail("DeviceStateError", `the store must have pldp_device ${STATE_SCHEMA}`);
	const spends = ledger.map(({ round = 1, account = "", ...spend }) => ({ ...spend, round, account }));
	const state = { pldp_device: STATE_SCHEMA, secret, cap: cap ?? LIFETIME_CAP, level_cap, ledger: spends, sent, labels };
	if (!isHex(secret) || ![state.cap, level_cap].every(isCount) || !spends.every(isSpend) || !sent.every(isSent) || !labels.every(isLabel)) return null;
	const older = sent.length < known.sent.length;
	return older ? fail("DeviceStateError", "the store is older than what this program has sent; put the newer state back") : state;
};

export const openState = async (store, cap, levelCap, random) => {
	const secret = toHex(random(SECRET_BYTES));
	const tighten = (caps) => ({ cap: Math.min(cap ?? caps.cap, caps.cap), level_cap: Math.min(levelCap ?? caps.level_cap, caps.level_cap) });
	const caps = tighten({ cap: LIFETIME_CAP, level_cap: LEVEL_CAP });
	const fresh = { pldp_device: STATE_SCHEMA, secret, ...caps, ledger: [], sent: [], labels: [] };
	const state = openStore(store, fresh, understandState);
	await state.change((found) => {
		const tight = tighten(found);
		const isTighter = tight.cap < found.cap || tight.level_cap < found.level_cap;
		return [null, (isTighter || found.secret === secret) && { ...found, ...tight }];
	});
	let [keyed, hmac] = [];
	/** An HMAC of texts that only this device can make; no text of a survey contains the character between them. */
	const key = (...parts) => {
		const known = state.known().secret;
		if (keyed !== known) [keyed, hmac] = [known, hmacOf(known)];
		return hmac(parts.join("\0"));
	};
	/** So many bytes that are always the same for these texts, and known to nobody else. */
	const keptBytes = async (count, ...parts) => {
		const blocks = Array.from({ length: Math.ceil(count / BLOCK_BYTES) }, (_, block) => key(...parts, block));
		return fromHex((await Promise.all(blocks)).join("").slice(0, 2 * count));
	};
	return { ...state, key, keptBytes };
};

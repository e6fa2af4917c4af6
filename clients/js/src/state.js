/** A store's `swap` writes only if its content is still `before`, and says so: nobody spends twice. */
import { hmacOf, toHex } from "./bytes.js";
import { fail } from "./errors.js";

const SECRET_BYTES = 32;

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

/** The work of a change returns its result and the next content, if any; the store has that before the result is out. */
export const openStore = (store, fresh, isGood) => {
	let known = fresh;
	const access = (what, action) =>
		action().catch((error) => fail("DeviceStateError", `the store cannot be ${what} (${error?.name})`));
	const parse = async (text) => {
		const content = JSON.parse(text);
		return isGood(content) ? content : fail("not a state");
	};
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
const isState = ({ pldp_device, secret, cap, ledger, memo }) =>
	pldp_device === 1 && isHex(secret) && (cap === null || isCount(cap)) &&
	ledger.every((spend) => isCount(spend.micro_epsilon)) &&
	Object.values(memo).every((output) => isCount(output) || isHex(output));

export const openState = async (store, cap, random) => {
	const secret = toHex(random(SECRET_BYTES));
	const state = openStore(store, { pldp_device: 1, secret, cap, ledger: [], memo: {} }, isState);
	await state.change((found) => {
		const tighter = cap !== null && (found.cap === null || cap < found.cap);
		return [null, (tighter || found.secret === secret) && { ...found, cap: tighter ? cap : found.cap }];
	});
	let [keyed, hmac] = [];
	const key = (...parts) => {
		const known = state.known().secret;
		if (keyed !== known) [keyed, hmac] = [known, hmacOf(known)];
		return hmac(parts.join("\0"));
	};
	return { ...state, key };
};

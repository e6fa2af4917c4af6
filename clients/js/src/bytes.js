const utf8 = (text) => new TextEncoder().encode(text);
const { subtle } = crypto;

export const systemRandom = (count) => {
	const bytes = new Uint8Array(count);
	// in pieces of the most that one call gives
	for (let at = 0; at < count; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
	return bytes;
};

export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const hexOf = async (buffer) => toHex(new Uint8Array(await buffer));

/** Python's order of different texts, not that of UTF-16 units. */
export const byCodePoint = (one, two) => (points(one) < points(two) ? -1 : 1);
const points = (text) => Array.from(text, (sign) => sign.codePointAt().toString(16).padStart(6)).join();

/** JSON in one and only one spelling; tables are Maps. */
export const canonical = (content) => {
	if (Array.isArray(content)) return `[${content.map(canonical)}]`;
	if (!(content instanceof Map)) return JSON.stringify(content);
	const keys = [...content.keys()].sort(byCodePoint);
	return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(content.get(key))}`)}}`;
};

export const sha256 = (text) => hexOf(subtle.digest("SHA-256", utf8(text)));

const keyOf = (hex, algorithm, use) => subtle.importKey("raw", fromHex(hex), algorithm, false, [use]);

export const hmac = async (secret, text) =>
	hexOf(subtle.sign("HMAC", await keyOf(secret, { name: "HMAC", hash: "SHA-256" }, "sign"), utf8(text)));

export const ed25519 = async (publicKey, signature, text) =>
	subtle.verify("Ed25519", await keyOf(publicKey, "Ed25519", "verify"), fromHex(signature), utf8(text));

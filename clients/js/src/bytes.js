export const utf8 = (text) => new TextEncoder().encode(text);
const { subtle } = crypto;

export const systemRandom = (count) => {
	const bytes = new Uint8Array(count);
	// in pieces of the most that one call gives
	for (let at = 0; at < count; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
	return bytes;
};

export const littleEndian = (bytes) => bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);

export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const fromHex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const hexOf = async (buffer) => toHex(new Uint8Array(await buffer));

/** Python's order of different texts, not that of UTF-16 units. */
export const byCodePoint = (one, two) => (toHex(utf8(one)) < toHex(utf8(two)) ? -1 : 1);

/** JSON in one and only one spelling; tables are Maps. */
export const canonical = (content) => {
	if (Array.isArray(content)) return `[${content.map(canonical)}]`;
	if (!(content instanceof Map)) return JSON.stringify(content);
	const keys = [...content.keys()].sort(byCodePoint);
	return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(content.get(key))}`)}}`;
};

export const sha256 = (text) => hexOf(subtle.digest("SHA-256", utf8(text)));

export const hmacOf = (secret) => {
	const key = subtle.importKey("raw", fromHex(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
	return async (text) => hexOf(subtle.sign("HMAC", await key, utf8(text)));
};

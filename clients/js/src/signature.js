import { fromHex, littleEndian, utf8 } from "./bytes.js";
import { fail } from "./errors.js";
import { fields } from "./reading.js";

const sure = (good, rule) => good || fail("SignatureError", `signature: ${rule}`);

const hexadecimal = (given, digits) => {
	sure(RegExp(`^[0-9a-f]{${digits}}$`, "i").test(given), `must have ${digits} hexadecimal digits`);
	return String(given).toLowerCase();
};

const PRIME = 2n ** 255n - 19n;
const EIGHTH = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
/** The y of all points P with 8·P = 0: with such a key anybody can make signatures that fit any text. */
const SMALL_ORDER = [0n, 1n, PRIME - 1n, EIGHTH, PRIME - EIGHTH];

const publicKey = (given) => {
	const key = hexadecimal(given, 64);
	const y = littleEndian(fromHex(key)) % 2n ** 255n; // the highest bit is the sign of x
	sure(y < PRIME && !SMALL_ORDER.includes(y), "anybody can sign with this key; make one with pldp survey key");
	return key;
};

/** Return the key that signed; if there is a `trusted` one, it must be that. */
export const verify = async (text, entry, trusted) => {
	sure(entry, "is missing, but a trusted key was given");
	const { algorithm, public_key, signature } = fields(entry, "signature", ["algorithm", "public_key", "signature"]);
	const [key, bytes] = [publicKey(public_key), hexadecimal(signature, 128)];
	sure(algorithm === "ed25519", "must be ed25519");
	sure(trusted.every((given) => publicKey(given) === key), "was not made with the trusted key");
	const { subtle } = crypto;
	const good = await subtle
		.importKey("raw", fromHex(key), "Ed25519", false, ["verify"])
		.then((imported) => subtle.verify("Ed25519", imported, fromHex(bytes), utf8(text)))
		.catch(({ name }) => sure(false, `cannot be checked, so the survey is refused (Ed25519 gave ${name})`));
	sure(good === true, "does not fit the survey; the file was changed after signing");
	return key;
};

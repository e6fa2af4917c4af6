import { fromHex, utf8 } from "./bytes.js";
import { fail } from "./errors.js";
import { fields } from "./reading.js";

const sure = (good, rule) => good || fail("SignatureError", `signature: ${rule}`);

const hexadecimal = (given, digits) => {
	sure(RegExp(`^[0-9a-f]{${digits}}$`, "i").test(given), `must have ${digits} hexadecimal digits`);
	return String(given).toLowerCase();
};

/** Return the key that signed; if there is a `trusted` one, it must be that. */
export const verify = async (text, entry, trusted) => {
	sure(entry, "is missing, but a trusted key was given");
	const { algorithm, public_key, signature } = fields(entry, "signature", ["algorithm", "public_key", "signature"]);
	const [key, bytes] = [hexadecimal(public_key, 64), hexadecimal(signature, 128)];
	sure(algorithm === "ed25519", "must be ed25519");
	sure(trusted.every((given) => hexadecimal(given, 64) === key), "was not made with the trusted key");
	const { subtle } = crypto;
	const good = await subtle
		.importKey("raw", fromHex(key), "Ed25519", false, ["verify"])
		.then((imported) => subtle.verify("Ed25519", imported, fromHex(bytes), utf8(text)))
		.catch(({ name }) => sure(false, `cannot be checked, so the survey is refused (Ed25519 gave ${name})`));
	sure(good === true, "does not fit the survey; the file was changed after signing");
	return key;
};

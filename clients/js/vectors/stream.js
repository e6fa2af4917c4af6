import { createHash } from "node:crypto";

/** The same bytes as Stream in tests/clients/make_vectors.py. */
export const stream = (name) => {
	let [count, left] = [0, Buffer.alloc(0)];
	return (wanted) => {
		const blocks = [left];
		for (let have = left.length; have < wanted; have += 32) {
			blocks.push(createHash("sha256").update(`${name}:${count++}`).digest());
		}
		const bytes = Buffer.concat(blocks);
		left = bytes.subarray(wanted);
		return Uint8Array.from(bytes.subarray(0, wanted));
	};
};

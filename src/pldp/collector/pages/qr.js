/** QR codes of short texts: bytes, error correction M, versions 1 to 20 of ISO/IEC 18004; rows of modules, 1 for dark. */

// Of versions 1, 2, … at error correction M: check codewords of a block, and blocks.
const CHECKS = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];
const [FIELD, FORMAT, FORMAT_MASK, VERSION] = [0x11d, 0x537, 0x5412, 0x1f25];

const range = (count, from = 0) => Array.from({ length: count }, (_, place) => from + place);

/** Codewords that a version holds: its area without the fixed patterns. */
const wordsIn = (version) => {
	const size = 17 + 4 * version;
	const aligned = version > 1 ? Math.floor(version / 7) + 2 : 0;
	const patterns = aligned ? 25 * (aligned * aligned - 3) - 10 * (aligned - 2) : 0;
	return Math.floor((size * size - 3 * 64 - 31 - 2 * (size - 16) - patterns - (version > 6 ? 36 : 0)) / 8);
};
const roomOf = (version) => wordsIn(version) - CHECKS[version - 1] * BLOCKS[version - 1];

const dataWords = (bytes, version) => {
	const room = roomOf(version);
	let bits = `0100${bytes.length.toString(2).padStart(version < 10 ? 8 : 16, "0")}`;
	for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
	bits = bits.padEnd(Math.min(bits.length + 4, 8 * room), "0");
	bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, "0");
	const words = bits.match(/.{8}/g).map((word) => parseInt(word, 2));
	return [...words, ...range(room - words.length).map((place) => [0xec, 0x11][place % 2])];
};

const multiply = (one, two) => {
	let product = 0;
	for (let bit = 7; bit >= 0; bit -= 1) product = (product << 1) ^ ((product >> 7) * FIELD) ^ (((two >> bit) & 1) * one);
	return product;
};

const generatorOf = (degree) => {
	const found = [...Array(degree - 1).fill(0), 1];
	for (let [step, root] = [0, 1]; step < degree; step += 1, root = multiply(root, 2))
		for (let place = 0; place < degree; place += 1) found[place] = multiply(found[place], root) ^ (found[place + 1] ?? 0);
	return found;
};

const remainder = (words, generator) =>
	words.reduce((found, word) => {
		const factor = word ^ found[0];
		return generator.map((each, place) => (found[place + 1] ?? 0) ^ multiply(each, factor));
	}, Array(generator.length).fill(0));

/** Blocks with their check codewords, one of each block in turn. */
const interleaved = (words, version) => {
	const [count, generator] = [BLOCKS[version - 1], generatorOf(CHECKS[version - 1])];
	const [short, longer] = [Math.floor(words.length / count), words.length % count];
	let at = 0;
	const blocks = range(count).map((place) => words.slice(at, (at += short + Number(place >= count - longer))));
	const checks = blocks.map((block) => remainder(block, generator));
	const inTurn = (length, rows) => range(length).flatMap((place) => rows.filter((row) => place < row.length).map((row) => row[place]));
	return [...inTurn(short + 1, blocks), ...inTurn(generator.length, checks)];
};

/** A number with the check bits of a BCH code behind it. */
const coded = (number, generator, checks) => {
	let rest = number << checks;
	for (let bit = 31 - Math.clz32(rest || 1); bit >= checks; bit -= 1) rest ^= ((rest >> bit) & 1) * (generator << (bit - checks));
	return (number << checks) | rest;
};

/** Each bit of the format with its two places. */
const formatPlaces = (size) => [
	...range(8).flatMap((bit) => [[bit, bit < 6 ? bit : bit + 1, 8], [bit, 8, size - 1 - bit]]),
	...range(7, 8).flatMap((bit) => [[bit, 8, bit === 8 ? 7 : 14 - bit], [bit, size - 15 + bit, 8]]),
];

const alignments = (version) => {
	if (version < 2) return [];
	const [count, last] = [Math.floor(version / 7) + 2, 10 + 4 * version];
	const step = Math.ceil(Math.ceil((last - 6) / (count - 1)) / 2) * 2;
	const lines = [6, ...range(count - 1).map((place) => last - step * (count - 2 - place))];
	const corner = (y, x) => (y === 6 && (x === 6 || x === last)) || (y === last && x === 6);
	return lines.flatMap((y) => lines.filter((x) => !corner(y, x)).map((x) => [y, x]));
};

/** The fixed patterns and the format of the first mask; null where data goes. */
const patterns = (version) => {
	const size = 17 + 4 * version;
	const grid = range(size).map(() => Array(size).fill(null));
	const put = (y, x, dark) => grid[y]?.[x] !== undefined && (grid[y][x] = Number(dark));
	const square = (y, x, reach, isDark) =>
		range(2 * reach + 1, -reach).forEach((down) => range(2 * reach + 1, -reach).forEach((right) =>
			put(y + down, x + right, isDark(Math.max(Math.abs(down), Math.abs(right))))));
	for (const at of range(size)) for (const [y, x] of [[6, at], [at, 6]]) put(y, x, at % 2 === 0);
	for (const [y, x] of [[3, 3], [3, size - 4], [size - 4, 3]]) square(y, x, 4, (ring) => [0, 1, 3].includes(ring));
	for (const [y, x] of alignments(version)) square(y, x, 2, (ring) => ring !== 1);
	const format = coded(0, FORMAT, 10) ^ FORMAT_MASK; // error correction M and the first mask are both written 0
	for (const [bit, y, x] of formatPlaces(size)) put(y, x, (format >> bit) & 1);
	put(size - 8, 8, 1);
	const bits = version > 6 ? coded(version, VERSION, 12) : 0;
	for (const place of range(version > 6 ? 18 : 0))
		for (const [y, x] of [[Math.floor(place / 3), size - 11 + (place % 3)], [size - 11 + (place % 3), Math.floor(place / 3)]]) put(y, x, (bits >> place) & 1);
	return grid;
};

/** The code of a text under the first mask; null for one that is too long. */
export const qrModules = (text) => {
	const bytes = new TextEncoder().encode(text);
	const version = range(CHECKS.length, 1).find((each) => bytes.length + (each < 10 ? 2 : 3) <= roomOf(each));
	if (!version) return null;
	const grid = patterns(version);
	const size = grid.length;
	const bits = interleaved(dataWords(bytes, version), version).map((word) => word.toString(2).padStart(8, "0")).join("");
	let next = 0;
	// Two columns up, two down, from the right; column 6 is a pattern.
	const columns = range(size).map((place) => size - 1 - place).filter((x) => x !== 6);
	for (let turn = 0; 2 * turn < columns.length; turn += 1)
		for (const row of range(size))
			for (const x of columns.slice(2 * turn, 2 * turn + 2)) {
				const y = turn % 2 ? row : size - 1 - row;
				if (grid[y][x] === null) grid[y][x] = Number(bits[next++] ?? 0) ^ Number((y + x) % 2 === 0);
			}
	return grid;
};

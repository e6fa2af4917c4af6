/** ε in whole millionths; logarithms in fixed point of 256 bits. */
const LARGEST = 20e6;
/** Of many answers together. */
export const TOTAL = 1e9;
const ONE = 1n << 256n;
// The steps below are short by less than 2⁷⁰ units in all; the guard is 2¹²⁰.
const GUARD = 1n << 120n;

/** Micro-ε of decimal text, rounded down; null for what is no ε. */
export const microOfText = (text, largest = LARGEST) => {
	const [, whole, decimals = ""] = /^(\d{1,4})(?:\.(\d+))?$/.exec(text) ?? [];
	const micro = Number(whole) * 1e6 + Number(decimals.slice(0, 6).padEnd(6, "0"));
	return micro > 0 && micro <= largest ? micro : null;
};

export const epsilonText = (micro) =>
	micro === Infinity ? "infinite" : (micro / 1e6).toFixed(6).replace(/\.?0+$/, "");

/** For 0 ≤ n/d ≤ 1/3. */
const twiceAtanh = (n, d) => {
	let power = (n * ONE) / d;
	const square = (power * power) / ONE;
	let sum = 0n;
	for (let odd = 1n; power; odd += 2n) {
		sum += power / odd;
		power = (power * square) / ONE;
	}
	return 2n * sum;
};

const LN2 = twiceAtanh(1n, 3n);

/** ln(n/d) in units of 2⁻²⁵⁶: powers of two are taken out until 1 ≤ n/d < 2. */
export const logarithm = (n, d) => {
	let twos = 0n;
	for (; n < d; twos -= 1n) n *= 2n;
	for (; n >= 2n * d; twos += 1n) d *= 2n;
	return twos * LN2 + twiceAtanh(n - d, n + d);
};

/** The smallest whole m ≥ 0 with Π (n/d)^power ≤ e^(m/10⁶), for [n, d, power] with positive n; infinite where a d is 0. */
export const microOfPowers = (factors) => {
	if (factors.some(([, d]) => !d)) return Infinity;
	const sum = factors.reduce((total, [n, d, power]) => total + logarithm(n, d) * power, 0n);
	return sum > 0n ? Number((sum * 1000000n + GUARD + ONE - 1n) / ONE) : 0;
};

/** The same for n/d; kept, because values of one channel have few different ones. */
export const microOfRatio = (n, d) => {
	const key = `${n}/${d}`;
	if (!ratios.has(key)) ratios.set(key, d ? microOfPowers([[n, d, 1n]]) : Infinity);
	return ratios.get(key);
};
const ratios = new Map();

/** The largest n/d of pairs; a pair of zeros cannot occur. */
export const largestOdds = (pairs) => largest(...pairs.filter(([n]) => n).map(([n, d]) => [n, d, 1n]));

/** The largest of several [numerator, denominator, power]. */
export const largest = (...ratios) => ratios.reduce((best, next) => (next[0] * best[1] > best[0] * next[1] ? next : best));

/** Numbers as people read them; digits follow the error, so that none is shown that means nothing. */
const decimals = (error) => (error > 0 && error < 1 ? Math.min(4, -Math.floor(Math.log10(error))) : 0);

const fixed = (digits) => new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "negative" });
const FORMS = Array.from({ length: 5 }, (_, digits) => fixed(digits));

const written = (number, digits) => FORMS[digits].format(number).replace("-", "−");

export const whole = (number) => written(number, 0);

/** A function that writes numbers that have such an error, in such units: 0.01 for per cent. */
export const writer = (error, unit = 1) => (number) => (number === null ? "–" : written(number / unit, decimals(error / unit)));

export const brief = (number) => new Intl.NumberFormat("en", { maximumSignificantDigits: 3 }).format(number).replace("-", "−");

export const hour = (seconds) =>
	new Date(seconds * 1000).toLocaleString("en-GB", { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

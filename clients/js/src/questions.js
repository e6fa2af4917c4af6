import { canonical, sha256 } from "./bytes.js";
import * as choice from "./choice.js";
import { fail } from "./errors.js";
import { check, fields, levelsOf, microOf, NAME, namesOf, table, textOf } from "./reading.js";

const KEYS = ["name", "text", "kind", "levels", "mechanism", "weights"];

/** What only some surveys need is loaded with the first of them. */
const moduleOf = (key, kind, budgeted) => {
	if (kind === "choice") return budgeted ? import("./budgets.js") : choice;
	if (kind === "choices") return import("./choices.js");
	check(kind === "number", `${key}.kind`);
	return import("./number.js");
};

/** A channel that promises no more than the bounds: one for each value, or one for all. */
export const channelOf = (key, { mechanisms, lists }, mechanism, size, weights, bounds) => {
	const [build, ...names] = check(mechanisms.get(mechanism), key, `mechanism must be one of ${[...mechanisms.keys()]}`);
	const sure = (good) => check(good, key, `weights must be ${names} of a channel`);
	const whole = (entry) => sure(Number.isSafeInteger(entry)) && BigInt(entry);
	const list = (entry) => sure(Array.isArray(entry) && entry.length === size) && entry.map(whole);
	sure(weights instanceof Map && weights.size === names.length);
	const channel = build(sure, BigInt(size), ...names.map((name) => weights.get(name)).map(lists ? list : whole));
	check(bounds.every((bound, value) => channel.promised(value) <= bound), key, "weights must keep the promised epsilon");
	return channel;
};

export const questionOf = async (entry, known) => {
	check(entry instanceof Map, "question");
	const key = `question ${textOf(entry.get("name"), "question.name", NAME)}`;
	const module = await moduleOf(key, entry.get("kind"), entry.has("budgets"));
	const { name, text, kind, ...file } = fields(entry, key, [...KEYS, ...module.keys], module.options);
	const { size, scale, rule, encode, ...shown } = module.read(file, key);
	const levels = levelsOf(file.levels, `${key}, level`, (level, epsilon, where) => {
		const [promise, micro] = [check(known.find((each) => each.name === level), where), microOf(epsilon, where)];
		const perLevel = (part) => table(file[part], `${key}.${part}`, [...file.levels.keys()]).get(level);
		const [mechanism, weights] = ["mechanism", "weights"].map(perLevel);
		const bounds = module.boundsOf?.(file, level, micro, where) ?? [micro];
		let identity;
		return {
			...promise,
			micro,
			charge: module.chargeOf?.(bounds) ?? micro,
			weights,
			channel: channelOf(where, module, mechanism, size, weights, bounds),
			identity: () => (identity ??= sha256(canonical([name, kind, scale, level, mechanism, weights]))),
		};
	});
	const unknown = (rule) => fail("AnswerError", `${rule} of question '${name}'; what came is not`);
	const question = {
		...shown,
		name,
		text: textOf(text, `${key}.text`, undefined, /^/),
		kind,
		levels,
		encode: (value) => encode(value) ?? unknown(`value must be ${rule}`),
		levelOf: (level = null) =>
			levels.find((each) => level === null || each.name === level) ??
			unknown(`level must be one of ${namesOf(levels).join(", ")}`),
		explain: (level) => module.explain(question, level),
	};
	return question;
};

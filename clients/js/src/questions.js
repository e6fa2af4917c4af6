import { canonical, sha256 } from "./bytes.js";
import { fail } from "./errors.js";
import { KINDS } from "./kinds/registry.js";
import { loadMechanisms } from "./mechanisms/registry.js";
import { check, fields, levelsOf, microOf, NAME, namesOf, table, textOf } from "./reading.js";

const KEYS = ["name", "text", "kind", "levels", "mechanism", "weights"];
const OPTIONAL = ["required"];

export const questionOf = async (entry, known, tracked) => {
	check(entry instanceof Map, "question");
	const key = `question ${textOf(entry.get("name"), "question.name", NAME)}`;
	const load = check(KINDS.get(entry.get("kind")), `${key}.kind`);
	const mechanisms = [...(entry.get("mechanism")?.values?.() ?? [])];
	const loadStages = async () => tracked && (await import("./mechanisms/stages.js")).loadStages();
	const [module, channelOf, stagesOf] = await Promise.all([load(entry), loadMechanisms(mechanisms), loadStages()]);
	const keys = [...KEYS, ...module.keys, ...(tracked ? ["stages"] : [])];
	const { name, text, kind, required, ...file } = fields(entry, key, keys, [...OPTIONAL, ...module.options]);
	check(required === undefined || required === true, `${key}.required`);
	const { size, scale, rule, encode, ...shown } = module.read(file, key);
	const price = ({ promised }) => module.chargeOf?.(Array.from({ length: size }, (_, place) => promised(place))) ?? promised(0);
	const placeOf = ({ name: level }) => known.findIndex((each) => each.name === level);
	const levels = levelsOf(file.levels, `${key}, level`, (level, epsilon, where) => {
		const [promise, micro] = [check(known.find((each) => each.name === level), where), microOf(epsilon, where)];
		const perLevel = (part) => table(file[part], `${key}.${part}`, [...file.levels.keys()]).get(level);
		const [mechanism, weights] = ["mechanism", "weights"].map(perLevel);
		const bounds = module.boundsOf?.(file, level, micro, where) ?? [micro];
		const stages = stagesOf && stagesOf(where, mechanism, size, perLevel("stages"));
		const fit = !stages || canonical(new Map(stages.together)) === canonical(weights);
		check(fit, where, "weights must be those that both stages make together");
		const channel = channelOf(where, module.takes, mechanism, size, weights, bounds);
		check(!module.fits || module.fits(channel, shown, micro, stages, { file, level, where }), where, "weights must fit the question");
		return {
			...promise,
			micro,
			promises: module.pairsOf?.(file, level, micro, where).flat() ?? bounds,
			charge: module.chargeOf?.(bounds, shown, file, level, micro, where) ?? micro,
			// Places of the labels without protection: a report can prove them.
			open: [...bounds.keys()].filter((place) => bounds[place] === Infinity),
			weights,
			channel,
			...(stages && { stages: { ...stages, prices: stages.channels.map(price) } }),
		};
	}, (a, b) => placeOf(a) - placeOf(b));
	const unknown = (rule) => fail("AnswerError", `${rule} of question '${name}'; this one is not`);
	const question = {
		...shown,
		name,
		text: textOf(text, `${key}.text`, undefined, /^/),
		kind,
		required: required === true,
		levels,
		// What a device knows the question by, and what its answers are measured by.
		identity: await sha256(canonical(entry)),
		scale: await sha256(canonical([kind, scale])),
		encode: (value) => encode(value) ?? unknown(`value must be ${rule}`),
		levelOf: (level = null) =>
			levels.find((each) => level === null || each.name === level) ??
			unknown(`level must be one of ${namesOf(levels).join(", ")}`),
		explain: (level, words) => module.explain(question, level, words),
	};
	return question;
};

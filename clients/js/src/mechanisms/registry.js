/** The only list of mechanisms; a module is loaded with the first survey that needs it. */
import { check } from "../reading.js";

const one = (sure, entry) => sure(Number.isSafeInteger(entry)) && BigInt(entry);
const list = (sure, entry, size) =>
	sure(Array.isArray(entry) && entry.length === size) && entry.map((each) => one(sure, each));

const lists = (sure, entry) => sure(Array.isArray(entry)) && entry.map((each) => one(sure, each));

const budgets = () => import("./budgets.js");
const laplace = () => import("./laplace.js");
const projective = () => import("./projective.js");
const unary = () => import("./unary.js");
const window = () => import("./window.js");

/** Name → what values it takes, the shape of each weight, the module with a builder of this name, its weights. */
export const MECHANISMS = new Map([
	["krr", ["label", one, () => import("./response.js"), "other"]],
	["sue", ["label", one, unary, "truth", "other"]],
	["oue", ["label", one, unary, "truth", "other"]],
	["subset", ["label", one, () => import("./subset.js"), "chosen", "truth"]],
	["lh", ["label", one, () => import("./hashing.js"), "buckets", "other"]],
	["projective", ["label", one, projective, "order", "truth"]],
	["pairs", ["label", one, projective, "order", "truth"]],
	["iprr", ["budgeted label", list, budgets, "other"]],
	["subset_items", ["budgeted label", list, () => import("./subset_items.js"), "chosen", "other"]],
	["idue", ["budgeted label", list, budgets, "truth", "other"]],
	["aprr", ["budgeted label", list, budgets, "other"]],
	["prr", ["budgeted label", list, budgets, "other"]],
	["item_set", ["set", list, () => import("./sets.js"), "kept", "raised"]],
	["boxes", ["set", one, () => import("./boxes.js"), "boxes", "other", "picks"]],
	["privset", ["set", one, () => import("./privset.js"), "at_most", "chosen", "meets"]],
	["laplace", ["number", one, laplace, "decay", "peak"]],
	["laplace_wide", ["number", one, laplace, "beyond", "decay", "peak"]],
	["sr", ["number", one, () => import("./rounding.js"), "first", "step"]],
	["pm", ["number", one, window, "width", "inside", "outside"]],
	["sw", ["number", one, window, "width", "inside", "outside"]],
	["minimax", ["number", lists, () => import("./minimax.js"), "start", "stop", "inside", "value", "odds"]],
	["hm", ["number", one, () => import("./hybrid.js"), "width", "inside", "outside", "first", "step"]],
]);

/** Load these; give what makes a channel that promises no more than the bounds: one for each value, or one for all. */
export const loadMechanisms = async (names) => {
	const load = async (name) => [name, (await MECHANISMS.get(name)?.[2]())?.[name]];
	const builders = new Map(await Promise.all(names.map(load)));
	return (key, takes, mechanism, size, weights, bounds) => {
		const fit = new Map([...MECHANISMS].filter(([, [values]]) => values === takes));
		const [, shape, , ...parts] = check(fit.get(mechanism), key, `mechanism must be one of ${[...fit.keys()]}`);
		const sure = (good) => check(good, key, `weights must be ${parts} of a channel`);
		sure(weights instanceof Map && weights.size === parts.length);
		const shaped = parts.map((part) => shape(sure, weights.get(part), size));
		const channel = builders.get(mechanism)(sure, BigInt(size), ...shaped);
		check(bounds.every((bound, value) => channel.promised(value) <= bound), key, "weights must keep the promised epsilon");
		return channel;
	};
};

/**
 * Bundle and minify the JavaScript device: node bundle.mjs FOLDER BANNER (see ../bundle.py).
 *
 * What any survey needs and what many need is one file: a compressor finds less to share in many small ones, and every file is
 * a request. What few surveys need stays a file of its own. Names of properties are left alone, because they are the interface
 * of the package and the keys of survey files.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rollup } from "@rollup/wasm-node";
import { minify } from "terser";

const SOURCE = fileURLToPath(new URL("../../clients/js/src/", import.meta.url));
const COMMON = [
	"signature",
	...["choice", "choices", "lists", "number", "whole"].map((name) => `kinds/${name}`),
	...["bits", "draws", "response", "rounding", "sets", "window"].map((name) => `mechanisms/${name}`),
].map((name) => join(SOURCE, `${name}.js`));

const [folder, banner] = process.argv.slice(2);

const write = async (name, code, preamble) => {
	const options = { module: true, ecma: 2022, compress: { passes: 3 }, format: { ecma: 2022, preamble } };
	const path = join(folder, name);
	await mkdir(dirname(path), { recursive: true });
	await writeFile(path, (await minify(code, options)).code);
};

const refuse = ({ message }) => {
	throw new Error(message);
};

/** Modules that this one loads at once, itself included. */
const reach = (getModuleInfo, id, found = new Set()) => {
	if (found.has(id)) return found;
	found.add(id);
	for (const next of getModuleInfo(id).importedIds) reach(getModuleInfo, next, found);
	return found;
};

const entry = join(SOURCE, "index.js");
// Parts take what they share with the entry from it, so it exports that too, under one letter each.
const bundle = await rollup({ input: entry, onwarn: refuse, preserveEntrySignatures: "allow-extension" });
const form = { format: "es", externalLiveBindings: false, freeze: false, generatedCode: { preset: "es2015", symbols: false } };
const parts = await bundle.generate({
	...form,
	chunkFileNames: "parts/[name].js",
	hoistTransitiveImports: false,
	manualChunks: (id, { getModuleInfo }) => {
		if (COMMON.includes(id) || reach(getModuleInfo, entry).has(id)) return "common";
		if (/\/(hiding|limits)\.js$/.test(id)) return "hiding";
		return /\/(kinds|mechanisms)\/(budgets|unary)\.js$/.test(id) ? "budgets" : undefined;
	},
});
const single = await bundle.generate({ ...form, inlineDynamicImports: true });
for (const { fileName, code, isEntry } of parts.output) await write(fileName, code, isEntry ? banner : "");
await write("pldp-device.min.js", single.output[0].code, banner);

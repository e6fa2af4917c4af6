/** node answer.js SURVEY STATE QUESTION VALUE LEVEL: answer with a state file, as Python's device does. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { openDevice, readSurvey } from "../src/index.js";

const [survey, path, ...answer] = process.argv.slice(2);
const read = () => (existsSync(path) ? readFileSync(path, "utf8") : null);
const store = {
	read: async () => read(),
	swap: async (before, after) => before === read() && (writeFileSync(path, after), true),
};
const device = await openDevice(await readSurvey(readFileSync(survey, "utf8")), { store });
console.log(JSON.stringify(await device.answer(...answer)));

import { databaseStore, openDevice, readSurvey } from "../../src/index.js";

onmessage = async ({ data: { store: name, locks, place } }) => {
	if (!locks) Object.defineProperty(navigator, "locks", { value: undefined });
	const document = await (await fetch("../surveys/commute.json")).json();
	delete document.total_epsilon;
	const attempts = Array.from({ length: 16 }, async (_, count) => {
		const survey = await readSurvey(JSON.stringify({ ...document, collector: `${place}/${count}` }));
		const device = await openDevice(survey, { store: databaseStore(name), cap: 3 });
		return device.answer("mode", "bike", "strict").then(() => "report", (error) => error.name);
	});
	postMessage(await Promise.all(attempts));
};

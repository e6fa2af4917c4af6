/** The survey page: answers are perturbed here, by the device, and only reports leave. */
import { databaseStore, openDevice, PldpError, readSurvey } from "./device/index.js";
import { byId } from "./dom.js";
import { showLedger } from "./ledger.js";
import { openSending } from "./sending.js";
import { announce, failed, on, show } from "./status.js";
import { openSteps } from "./steps.js";

const metaOf = (name) => document.querySelector(`meta[name="${name}"]`).content;
const collector = new URL(metaOf("pldp-collector"), document.baseURI);
const trustedKey = metaOf("pldp-trusted-key");

const fetchText = async () => {
	const response = await fetch(new URL("v1/survey", collector), { credentials: "omit" }).catch(() => null);
	if (!response?.ok) throw new PldpError("The survey cannot be loaded now; please try again later");
	return response.text();
};

const short = (key) => `${key.slice(0, 16)}…`;

const aboutSignature = (key) => {
	if (trustedKey) return `The survey was signed with the key that this page trusts (${short(trustedKey)}).`;
	return "This page and the survey come from the same server. Whoever runs it can change both, and a changed page could " +
		`read your answers. ${key ? `The survey's signature fits it (key ${short(key)}).` : "The survey is not signed."}`;
};

const introduce = (survey, key) => {
	document.title = survey.title;
	byId("title").textContent = survey.title;
	byId("collector").textContent = survey.collector && `A survey of ${survey.collector}`;
	byId("shown").textContent = survey.hiding ? "Your report hides the level, too." : "Your report shows the level that you chose.";
	byId("signature").textContent = aboutSignature(key);
	byId("hash").textContent = survey.hash;
};

const start = async () => {
	const text = await fetchText();
	const survey = await readSurvey(text, trustedKey ? { trustedKey } : {});
	const store = databaseStore("pldp");
	const device = await openDevice(survey, { store });
	on(byId("limiting"), "submit", async ({ target }) => {
		showLedger(survey, await openDevice(survey, { store, cap: byId("cap").value.trim() }));
		target.reset();
		announce("Your limit is set.");
	});
	introduce(survey, JSON.parse(text).signature?.public_key);
	showLedger(survey, device);
	openSteps(survey, device, await openSending(survey, collector));
	for (const id of ["promise", "choosing", "reports", "ledger", "about"]) show(id);
};

start().catch(failed);

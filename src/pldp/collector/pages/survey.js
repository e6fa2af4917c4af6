/** The survey page: answers are perturbed here, by the device, and only reports leave. */
import { showAnswered } from "./answered.js";
import { databaseStore, openDevice, PldpError, readSurvey } from "./device/index.js";
import { byId } from "./dom.js";
import { showLedger } from "./ledger.js";
import { openSending } from "./sending.js";
import { announce, failed, on, show } from "./status.js";
import { openSteps } from "./steps.js";

const metaOf = (name) => document.querySelector(`meta[name="${name}"]`).content;
const collector = new URL(metaOf("pldp-collector"), document.baseURI);
const trustedKey = metaOf("pldp-trusted-key");

const fetchText = async (path, missing) => {
	const response = await fetch(new URL(path, collector), { credentials: "omit" }).catch(() => null);
	if (response?.status === 404 && missing) return missing;
	if (!response?.ok) throw new PldpError("The survey cannot be loaded now; please try again later");
	return response.text();
};

/** Collectors that know no rounds have one, and it is open. */
const fetchRound = async () => JSON.parse(await fetchText("v1/round", '{"round":1,"open":true}'));

/** Why nobody can answer with the invitation that this browser has, if it needs one: before anything is asked. */
const uninvited = (needed, { token, refused, spent }) => {
	if (!needed) return "";
	if (!token) return "This survey is for invited people. Please open the link of your invitation.";
	if (refused) return "Your invitation is not valid, or no longer. Please ask the people who invited you for a new link.";
	return spent ? "Your invitation allows no further report." : "";
};

const short = (key) => `${key.slice(0, 16)}…`;

const aboutSignature = (key) => {
	if (trustedKey) return `The survey was signed with the key that this page trusts (${short(trustedKey)}).`;
	return "This page and the survey come from the same server. Whoever runs it can change both, and a changed page could " +
		`read your answers. ${key ? `The survey's signature fits it (key ${short(key)}).` : "The survey is not signed."}`;
};

const introduce = (survey) => {
	document.title = survey.title;
	byId("title").textContent = survey.title;
	byId("collector").textContent = survey.collector && `A survey of ${survey.collector}`;
	byId("shown").textContent = survey.hiding ? "Your report hides the level, too." : "Your report shows the level that you chose.";
	byId("signature").textContent = aboutSignature(survey.signer);
	byId("hash").textContent = survey.hash;
};

const start = async () => {
	const [text, { round, open, preview = false, invitation = false }] = await Promise.all([fetchText("v1/survey"), fetchRound()]);
	const survey = await readSurvey(text, trustedKey ? { trustedKey } : {});
	const device = await openDevice(survey, { store: databaseStore("pldp"), round });
	/** Show what was spent and answered. */
	const update = async () => {
		showLedger(survey, device);
		await showAnswered(survey, device, sending, open);
	};
	/** Offer what is left, too; where levels are hidden, everything goes into one report. */
	const restart = async () => {
		await update();
		const answered = await device.answered();
		const left = device.asked.filter((name) => !answered.includes(name));
		const barred = uninvited(invitation, await sending.account());
		byId("uninvited").textContent = barred;
		show("uninvited", Boolean(barred));
		const none = !open || barred || (survey.hiding && answered.length);
		await offer(none ? [] : left.map((name) => survey.question(name)));
	};
	const sending = await openSending(survey, device, collector, update, restart);
	const offer = openSteps(survey, device, sending, update);
	on(byId("limiting"), "submit", async ({ target }) => {
		const before = device.ledger().cap;
		await device.changeCap(byId("cap").value.trim());
		target.reset();
		await restart();
		announce(device.ledger().cap > before
			? "Your limit is higher now: those who ask can learn more about you than before."
			: "Your limit is set.");
	});
	introduce(survey);
	await restart();
	show("closed", !open);
	show("simulated", preview);
	for (const id of ["promise", "reports", "ledger", "about"]) show(id);
	sending.flush();
};

start().catch(failed);

/** The survey page: answers are perturbed here, by the device, and only reports leave. */
import { showAnswered } from "./answered.js";
import { explainShuffle } from "./device/explain.js";
import { databaseStore, openDevice, PldpError, readSurvey } from "./device/index.js";
import { byId, make } from "./dom.js";
import { showLedger } from "./ledger.js";
import { openSending } from "./sending.js";
import { announce, failed, on, show } from "./status.js";
import { openSharing } from "./sharing.js";
import { openSteps } from "./steps.js";
import { collectorOf, day, deviceWords, levelName, nameOf, openWords, passageOf, t, titleOf, typedNumber } from "./words.js";

const metaOf = (name) => document.querySelector(`meta[name="${name}"]`).content;
const collector = new URL(metaOf("pldp-collector"), document.baseURI);
const trustedKey = metaOf("pldp-trusted-key");

/** On their way while the survey is: whatever goes wrong is said in them. */
const words = openWords();

const fetchText = async (path, missing) => {
	const response = await fetch(new URL(path, collector), { credentials: "omit" }).catch(() => null);
	if (response?.status === 404 && missing) return missing;
	await words;
	if (!response?.ok) throw new PldpError(t("error.load"));
	return response.text();
};

/** Collectors that know no rounds have one, and it is open. */
const fetchRound = async () => JSON.parse(await fetchText("v1/round", '{"round":1,"open":true}'));

/** Why nobody can answer with the invitation that this browser has, if it needs one: before anything is asked. */
const uninvited = (needed, { token, refused, spent }) => {
	if (!needed) return "";
	if (!token) return t("invitation.needed");
	if (refused) return t("invitation.refused");
	return spent ? t("invitation.used") : "";
};

const short = (key) => `${key.slice(0, 16)}…`;

const aboutSignature = (key) => {
	if (trustedKey) return t("page.signed", { key: short(trustedKey) });
	return `${t("page.same server")} ${key ? t("page.signature fits", { key: short(key) }) : t("page.unsigned")}`;
};

const LINKS = /(https:\/\/[^\s<>"]+[^\s<>".,;:!?)]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)/;

/** A passage as paragraphs; addresses in it become links, and nothing else does. */
const passage = (text) =>
	text.split(/\n\s*\n/).map((paragraph) =>
		make("p", {}, ...paragraph.split(LINKS).map((part) => {
			if (!LINKS.test(part)) return part;
			const href = part.includes("://") ? part : `mailto:${part}`;
			return make("a", { href, rel: "noreferrer", target: "_blank" }, part);
		})));

const SHORT = 280; // characters of an introduction that stands open above the first question

const showPassages = (survey) => {
	const introduction = passageOf(survey, "introduction");
	byId(introduction.length > SHORT ? "introduction-long" : "introduction").replaceChildren(...passage(introduction));
	show("introduction", Boolean(introduction) && introduction.length <= SHORT);
	show("introduction-details", introduction.length > SHORT);
	for (const name of ["notice", "contact", "thanks"]) byId(`${name}-text`).replaceChildren(...passage(passageOf(survey, name)));
	for (const name of ["notice", "contact"]) show(name, Boolean(passageOf(survey, name)));
};

/** Another language changes the words in place: loading the page again would lose answers that are not drawn yet. */
const showLanguages = ({ language, offered }, present) => {
	const list = byId("language");
	list.replaceChildren(...offered.map((each) => Object.assign(new Option(nameOf(each), each, each === language, each === language), { lang: each })));
	let turn = Promise.resolve();
	on(list, "change", () => {
		history.replaceState(history.state, "", `?lang=${list.value}`);
		turn = turn.then(present, present);
		return turn.then(() => list.focus());
	});
	show("language", offered.length > 1);
};

/** Whether reports show the chosen level. */
const aboutShown = ({ hiding, levels }) => {
	if (hiding?.channel) return t("choose.hidden");
	return hiding ? t("choose.lottery", { strictest: levelName(levels[0].name), open: levelName(levels.at(-1).name) }) : t("choose.shown");
};

const introduce = (survey, { ended = false, retain_days: days }) => {
	document.title = titleOf(survey);
	byId("title").textContent = titleOf(survey);
	const facts = [survey.collector && t("page.by", { collector: collectorOf(survey) }), survey.closes && t("page.open until", { day: day(survey.closes) })];
	byId("collector").textContent = facts.filter(Boolean).join(" · ");
	if (survey.logo) byId("logo").src = new URL("v1/logo", collector);
	show("logo", Boolean(survey.logo));
	byId("shown").textContent = aboutShown(survey);
	if (survey.shuffle) byId("mixing").textContent = explainShuffle(survey.shuffle, deviceWords());
	show("mixing", Boolean(survey.shuffle));
	showPassages(survey);
	if (ended) byId("closed").textContent = t("closed.survey", { day: day(survey.closes) });
	if (days) byId("retention").textContent = t("page.retention", { days });
	show("retention", Boolean(days));
	byId("signature").textContent = aboutSignature(survey.signer);
	byId("hash").textContent = survey.hash;
};

const start = async () => {
	const [text, state] = await Promise.all([fetchText("v1/survey"), fetchRound()]);
	const { round, preview = false, invitation = false, ended = false } = state;
	const open = state.open && !ended;
	const survey = await readSurvey(text, trustedKey ? { trustedKey } : {});
	const languages = await openWords(survey);
	introduce(survey, state);
	const device = await openDevice(survey, { store: databaseStore("pldp"), round });
	/** Show what was spent and answered. */
	const update = async () => {
		showLedger(survey, device);
		await showAnswered(survey, device, sending, open);
	};
	/** Offer what is left, too; where labels hide levels, everything goes into one report. */
	const restart = async () => {
		await update();
		const answered = await device.answered();
		const left = device.asked.filter((name) => !answered.includes(name));
		const barred = uninvited(invitation, await sending.account());
		byId("uninvited").textContent = barred;
		show("uninvited", Boolean(barred));
		const none = !open || barred || (survey.hiding?.channel && answered.length);
		await offer(none ? [] : left.map((name) => survey.question(name)));
	};
	const sending = await openSending(survey, device, collector, update, restart);
	const offer = openSteps(survey, device, sending, update);
	on(byId("limiting"), "submit", async ({ target }) => {
		const before = device.ledger().cap;
		await device.changeCap(typedNumber(byId("cap").value.trim()));
		target.reset();
		await restart();
		announce(t(device.ledger().cap > before ? "ledger.higher" : "ledger.lower"));
	});
	await restart();
	showLanguages(languages, async () => {
		await openWords(survey);
		introduce(survey, state);
		await restart();
		sending.flush();
	});
	show("closed", !open);
	show("simulated", preview);
	for (const id of ["reports", "ledger", "about"]) show(id);
	openSharing(document.baseURI);
	sending.flush();
};

start().catch(failed);

/** Compute hash, signature and every ε again from the published integers, and compare them with the certificate. */
import { epsilonText } from "pldp/epsilon.js";
import { readSurvey } from "pldp/survey.js";

const byId = (id) => document.getElementById(id);
const { survey: published, certificate } = JSON.parse(byId("data").textContent);

const make = (tag, text, className = "") => Object.assign(document.createElement(tag), { textContent: text, className });

/** The most that an output tells about any protected value, in millionths of ε. */
const recomputed = (question, level) => {
	const values = Array.from({ length: question.values?.length ?? question.buckets }, (_, value) => value);
	return values.reduce((most, value) => {
		const micro = level.channel.promised(value);
		return micro < Infinity && micro > most ? micro : most;
	}, 0);
};

const micro = (epsilon) => Math.round(epsilon * 1e6);

const rowsOf = (survey) => survey.questions.flatMap((question) => question.levels.map((level) => {
	const [found, row] = [recomputed(question, level), certificate.rows.find((each) =>
		each.question === question.name && each.level === level.name && each.rounds === 1)];
	const same = row !== undefined && micro(row.exact) === found && found <= level.micro;
	return { cells: [question.name, level.name, epsilonText(level.micro), epsilonText(found), row ? String(row.exact) : "–"], same };
}));

const show = (lines, rows) => {
	byId("findings").replaceChildren(...lines.map(([text, good]) => make("li", text, good ? "holds" : "fails")));
	byId("rows").replaceChildren(...rows.map(({ cells, same }) => {
		const line = document.createElement("tr");
		line.append(...cells.map((cell, place) => make(place ? "td" : "th", cell, place > 1 ? "number" : "")),
			make("td", same ? "equal" : "differs", same ? "holds" : "fails"));
		line.firstChild.scope = "row";
		return line;
	}));
	const good = lines.every(([, each]) => each) && rows.length > 0 && rows.every(({ same }) => same);
	byId("verdict").textContent = good
		? "Everything that this page computes again agrees with the certificate."
		: "Something does not agree with the certificate. Do not rely on it.";
	byId("verdict").className = good ? "holds" : "warning";
};

const verify = async (text) => {
	try {
		const survey = await readSurvey(text);
		const lines = [[`Hash of the survey: ${survey.hash}`, survey.hash === certificate.survey_hash]];
		lines.push([`Hash in the certificate: ${certificate.survey_hash}`, survey.hash === certificate.survey_hash]);
		if (survey.signer) lines.push([`The signature fits the survey; it was made with the key ${survey.signer}`, true]);
		show(lines, rowsOf(survey));
	} catch (error) {
		show([[`This survey cannot be read: ${error.message}`, false]], []);
	}
};

byId("other").addEventListener("change", async ({ target }) => {
	if (target.files.length) await verify(await target.files[0].text());
});
await verify(published);

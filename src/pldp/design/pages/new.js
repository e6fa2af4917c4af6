/** `pldp new`: write a survey, and see at once what it reveals, costs and is worth. */
import { byId, make } from "./dom.js";
import { fieldOf, plainField, showTroubles } from "./fields.js";
import { showLook, showPlan } from "./results.js";

const ABOUT = ["title", "collector"];
const LIMITS = ["total_epsilon", "hide_level", "repeat"];
const NOT_YET = "this survey cannot be started yet:";
const PAUSE = 250; // milliseconds without a key before the server is asked
const LONGER = 700; // the same for what takes longer

const KEY = { "pldp-key": localStorage.getItem("pldp-key") ?? "" };

const load = async () => (await fetch("state", { headers: KEY })).json();

const ask = async (what, content) => {
	const answer = await fetch(what, { method: "POST", headers: { ...KEY, "content-type": "application/json" }, body: JSON.stringify(content) })
		.catch(() => null);
	if (!answer?.ok) return { error: "pldp new does not answer; is it still running?" };
	return answer.json();
};

const say = (line, wrong = false) => {
	byId("status").textContent = line;
	byId("status").className = wrong ? "wrong" : "status";
};
const complain = (line) => {
	byId("error").textContent = line ? `${line[0].toUpperCase()}${line.slice(1)}.` : "";
	byId("error").hidden = !line;
};

/** Ask after a pause, and show only the answer to the last question. */
const paused = (pause, work) => {
	let [timer, number] = [null, 0];
	return () => {
		clearTimeout(timer);
		number += 1;
		const own = number;
		timer = setTimeout(() => work(() => own === number), pause);
	};
};

const start = async () => {
	const state = await load();
	let form = state.form;
	let saved = ""; // the form as it is in the file
	let shown = "";
	const plain = new WeakSet(); // levels that the file gives as a number alone
	const sent = () => ({
		...form,
		levels: form.levels.map((pair) => (plain.has(pair) && String(Object.keys(pair[1])) === "epsilon" ? [pair[0], pair[1].epsilon] : pair)),
	});
	const written = () => JSON.stringify(sent());
	byId("people").value = String(state.people);

	const showPreview = (hash) => {
		if (hash === shown) return;
		shown = hash;
		// Every version of the survey is a new one: what the page kept of another would only confuse.
		indexedDB.deleteDatabase("pldp");
		const frame = byId("seen");
		frame.hidden = false;
		frame.src = `${state.preview}?${hash.slice(0, 8)}`;
	};

	const check = paused(PAUSE, async (latest) => {
		const answer = await ask("check", { form: sent() });
		if (!latest()) return;
		complain(answer.error);
		const left = showTroubles(byId("form"), answer.troubles ?? []);
		const good = !answer.error && !answer.troubles.length;
		byId("pending").textContent = answer.troubles?.length ? left[0] ?? "Correct the marked fields to see this." : "";
		byId("pending").hidden = good;
		byId("results").classList.toggle("old", !good);
		if (!good) return;
		showLook(answer);
		showPreview(answer.hash);
	});

	const expect = paused(LONGER, async (latest) => {
		const people = Number(byId("people").value.replaceAll(/[ ,.']/g, "")) || 0;
		const answer = await ask("plan", { form: sent(), people });
		if (latest() && !answer.error) showPlan(answer, useDesign);
	});

	const changed = () => {
		byId("heading").textContent = form.title || "New survey";
		say("");
		byId("overwrite").hidden = true;
		check();
		expect();
	};

	const useDesign = async (change) => {
		const answer = await ask("better", { form: sent(), change });
		if (answer.error) return complain(answer.error);
		form = answer.form;
		build();
		changed();
		say("The survey now has this design. Save it to keep it.");
	};

	const named = (keys) => state.fields.filter(({ key }) => keys.includes(key)).map((field) => fieldOf(field, form, [field.key], changed));

	const levelRow = (pair, place) => {
		if (typeof pair[1] !== "object") {
			plain.add(pair);
			pair[1] = { epsilon: pair[1] };
		}
		const entry = pair[1];
		const key = "fraction" in entry ? "fraction" : "epsilon";
		const name = { get name() { return pair[0]; }, set name(text) { pair[0] = text; } };
		const where = ["levels", place];
		const remove = make("button", { type: "button", className: "plain wide" }, `Remove level ${place + 1}`);
		remove.addEventListener("click", () => {
			form.levels.splice(place, 1);
			build();
			changed();
		});
		const keep = (change) => () => {
			change?.();
			buildQuestions();
			changed();
		};
		const wide = fieldOf(plainField("text", "line", "What people read"), entry, [...where, "text"], changed);
		wide.classList.add("wide");
		return make("div", { className: "level-row" },
			fieldOf(plainField("name", "line", `Name of level ${place + 1}`), name, [...where, "name"], keep()),
			fieldOf(plainField(key, "decimal", key === "epsilon" ? "ε" : "Part of the budget"), entry, [...where, "epsilon"], changed),
			wide, ...(form.levels.length > 1 ? [remove] : []));
	};

	/** Another ε for this question, level by level; a question with some of them offers only these. */
	const ownLevels = (question, where) => {
		const own = { ...question.levels };
		const update = () => {
			if (Object.keys(own).length) question.levels = own;
			else delete question.levels;
			changed();
		};
		const fields = form.levels.map(([name]) => fieldOf(plainField(name, "decimal", name), own, [...where, "levels", name], update));
		const trouble = make("p", { className: "trouble", hidden: true });
		trouble.dataset.where = [...where, "levels"].join("/");
		return make("details", { open: Boolean(question.levels) }, make("summary", {}, "Another ε for this question"),
			make("p", { className: "muted small" }, "Only levels with an ε here are then on offer for it."),
			make("div", { className: "columns" }, ...fields), trouble);
	};

	const move = (place, by) => {
		const [moved] = form.questions.splice(place, 1);
		form.questions.splice(place + by, 0, moved);
		build();
		changed();
	};

	const questionCard = (question, place) => {
		const kind = state.kinds.find((each) => each.kind === (question.kind ?? state.kinds[0].kind)) ?? state.kinds[0];
		const where = ["questions", place];
		const shownFirst = kind.fields.filter(({ key, required }) => required || ["name", "text"].includes(key));
		const further = kind.fields.filter((field) => !shownFirst.includes(field));
		const build1 = (field) => fieldOf(field, question, [...where, field.key], changed);
		const buttons = [
			["Up", () => move(place, -1), place > 0],
			["Down", () => move(place, 1), place < form.questions.length - 1],
			["Remove", () => { form.questions.splice(place, 1); build(); changed(); }, true],
		].filter(([, , can]) => can).map(([label, work]) => {
			const button = make("button", { type: "button", ariaLabel: `${label}: question ${place + 1}` }, label);
			button.addEventListener("click", work);
			return button;
		});
		const trouble = make("p", { className: "trouble", hidden: true });
		trouble.dataset.where = where.join("/");
		return make("div", { className: "question" },
			make("h3", {}, `Question ${place + 1}: ${kind.words}`), trouble, ...shownFirst.map(build1),
			make("details", { open: further.some(({ key }) => key in question) }, make("summary", {}, "More about this question"), ...further.map(build1)),
			ownLevels(question, where), make("div", { className: "buttons" }, ...buttons));
	};

	const buildQuestions = () => byId("questions").replaceChildren(...form.questions.map(questionCard));

	const build = () => {
		byId("about").replaceChildren(...named(ABOUT));
		byId("limits").replaceChildren(...named([...LIMITS, "ask"]));
		const rest = state.fields.map(({ key }) => key).filter((key) => ![...ABOUT, ...LIMITS, "ask"].includes(key));
		byId("rest").replaceChildren(...named(rest));
		byId("levels").replaceChildren(...form.levels.map(levelRow));
		buildQuestions();
	};

	byId("adding").replaceChildren(...state.kinds.map(({ kind, words }) => {
		const button = make("button", { type: "button" }, `Add: ${words}`);
		button.addEventListener("click", () => {
			form.questions.push({ name: "", ...(kind === state.kinds[0].kind ? {} : { kind }) });
			build();
			changed();
			byId("questions").lastElementChild.querySelector("input").focus();
		});
		return button;
	}));
	byId("add-level").addEventListener("click", () => {
		form.levels.push(["", {}]);
		build();
		changed();
	});
	byId("people").addEventListener("input", expect);

	const showFile = (file, kept) => {
		byId("file").textContent = file ? `File: ${file}` : "";
		byId("naming").hidden = Boolean(file);
		byId("kept").textContent = kept.length ? `This form does not show these keys; they stay in the file as they are: ${kept.join(", ")}.` : "";
		byId("kept").hidden = !kept.length;
	};

	const save = async (overwrite) => {
		const now = written();
		const answer = await ask("save", { form: sent(), name: byId("name").value.trim(), overwrite });
		byId("overwrite").hidden = !answer.changed;
		if (answer.error) return say(`Not saved: ${answer.error}.`, true);
		saved = now;
		showFile(answer.file, answer.kept);
		if (answer.draft) say(`Saved as a draft: ${NOT_YET} ${answer.draft}.`, true);
		else say(`Saved ${answer.file}.`);
	};
	byId("save").addEventListener("click", () => save(false));
	byId("overwrite").addEventListener("click", () => save(true));

	const showStarted = (started) => {
		byId("started").hidden = !started;
		if (!started) return;
		say(started.preview ? "Simulated people answer here; nothing is kept." : `The survey is open on this machine. Reports go to ${started.database}.`);
		byId("survey-link").href = started.survey;
		byId("dashboard-link").href = started.dashboard;
		byId("started-words").textContent = "It runs until you stop it here or end pldp new.";
		byId("command").textContent = started.command;
	};

	const begin = async (preview) => {
		say("Starting …");
		const answer = await ask("start", { form: sent(), preview });
		showStarted(answer.error ? (await load()).started : answer);
		if (answer.error) return say(`Not started: ${answer.error}.`, true);
		byId("status").focus();
	};
	byId("try").addEventListener("click", () => begin(true));
	byId("start").addEventListener("click", () => begin(false));
	byId("stop").addEventListener("click", async () => {
		const answer = await ask("stop", {});
		if (answer.error) return say(`Not stopped: ${answer.error}.`, true);
		showStarted(null);
		say("Stopped.");
	});
	byId("form").addEventListener("submit", (event) => event.preventDefault());

	showFile(state.file, state.kept);
	build();
	changed();
	saved = written();
	if (state.draft) say(`Draft: ${NOT_YET} ${state.draft}.`, true);
	showStarted(state.started);
	addEventListener("beforeunload", (event) => {
		if (written() !== saved) event.preventDefault();
	});
};

start().catch(() => complain("pldp new does not answer; is it still running?"));

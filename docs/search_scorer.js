// How the search of the built pages ranks: guides before reference, research and symbols.
"use strict";

const SHELVES = [
	[/^docs\/(how-to|tutorial|notebooks\/case)/, 8],
	[/^docs\/(api|decisions|research)[/.]|^docs\/api$|^CHANGELOG$|^benchmarks|^CONTRIBUTING$/, -40],
	[/^docs\/(survey-file|cli|collector|wire-format|codes|combinations|javascript|papers)$/, -4],
];

var Scorer = {
	score: ([docname, title, , , score, , kind]) => {
		if (kind === "object") return score - 40;
		const asked = new URLSearchParams(location.search).get("q")?.trim().toLowerCase();
		const named = asked && title.toLowerCase().includes(asked) ? 6 : 0; // the very words, not only their stems
		return score + named + (SHELVES.find(([pattern]) => pattern.test(docname))?.[1] ?? 4);
	},
	objNameMatch: 11,
	objPartialMatch: 6,
	objPrio: { 0: 15, 1: 5, 2: -5 },
	objPrioDefault: 0,
	title: 15,
	partialTitle: 7,
	term: 5,
	partialTerm: 2,
};

// How the search of the built pages ranks: guides before reference, research and symbols.
"use strict";

const SHELVES = [
	[/^docs\/(how-to|tutorial|notebooks\/case)/, 8],
	[/^docs\/(api|decisions|research)[/.]|^docs\/api$|^CHANGELOG$|^benchmarks|^CONTRIBUTING$/, -40],
	[/^docs\/(survey-file|cli|collector|wire-format|codes|combinations|javascript|papers)$/, -4],
];

var Scorer = {
	score: ([docname, , , , score, , kind]) => {
		const shelf = SHELVES.find(([pattern]) => pattern.test(docname))?.[1] ?? 4;
		return score + (kind === "object" ? -40 : shelf);
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

/** The only list of kinds: its module, loaded with the first question that needs it. */
export const KINDS = new Map([
	["choice", (question) => (question.has("budgets") ? import("./budgets.js") : import("./choice.js"))],
	["choices", (question) => question.has("budget") ? import("./whole.js") : question.has("sides") ? import("./sides.js") : import("./choices.js")],
	["number", () => import("./number.js")],
]);

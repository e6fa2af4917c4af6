/**
 * The only list of kinds on this page. Each module has
 * `fields(id, question)`, the fields and what reads their answer (undefined: none);
 * `says(question, channel, output)`, a report in words.
 */
import * as choice from "./choice.js";
import * as choices from "./choices.js";
import * as number from "./number.js";

export const KINDS = { choice, choices, number };

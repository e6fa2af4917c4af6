/**
 * The only list of kinds on the dashboard. Each module has
 * `phrase`, the kind in words; `chart(view)`, elements that show the rows; `legend(view)`, how to read them;
 * `forged(view)`, how far one forged report can shift them; and may have `extra(view, round, tell)`, what can be opened below, and `label(name)`, how it writes a label.
 */
import * as choice from "./choice.js";
import * as choices from "./choices.js";
import * as number from "./number.js";
import * as table from "./table.js";

export const KINDS = { choice, choices, number, table };

/** The address of the survey, to be passed on: as text and as a QR code. An invitation is no part of it. */
import { byId, draw } from "./dom.js";

const QUIET = 4; // modules of empty border

const drawCode = (grid) => {
	const size = grid.length + 2 * QUIET;
	const dark = grid.flatMap((row, y) => row.map((on, x) => (on ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : "")));
	return draw("svg", { viewBox: `0 0 ${size} ${size}`, class: "code-picture", "aria-hidden": "true", "shape-rendering": "crispEdges" },
		draw("path", { class: "code-paper", d: `M0 0h${size}v${size}H0z` }), draw("path", { class: "code-ink", d: dark.join("") }));
};

export const openSharing = (address) => {
	const { origin, pathname } = new URL(address);
	const link = `${origin}${pathname}`;
	byId("link").textContent = link;
	byId("sharing").addEventListener("toggle", async () => {
		const { qrModules } = await import("./qr.js");
		const grid = qrModules(link);
		if (grid) byId("code").replaceChildren(drawCode(grid));
		else byId("code").hidden = true;
	}, { once: true });
};

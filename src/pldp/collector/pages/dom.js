/** Text is only ever set as text, so that no label can become markup. */
export const byId = (id) => document.getElementById(id);

export const make = (tag, properties, ...children) => {
	const element = Object.assign(document.createElement(tag), properties);
	element.append(...children);
	return element;
};

const SVG = "http://www.w3.org/2000/svg";

export const draw = (tag, attributes, ...children) => {
	const element = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
	element.append(...children);
	return element;
};

const PLACES = Array.from({ length: 100 }, (_, place) => `M${5 + 10 * (place % 20)} ${5 + 10 * Math.floor(place / 20)}h.01`);

/** A hundred people, the first so many marked. The words beside it say the same. */
export const hundred = (marked) =>
	draw("svg", { viewBox: "0 0 200 50", class: "hundred", "aria-hidden": "true" },
		draw("path", { class: "on", d: PLACES.slice(0, marked).join("") }),
		draw("path", { class: "off", d: PLACES.slice(marked).join("") }));

/** How much of a whole, with words beside it. */
export const bar = (share) =>
	draw("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" },
		draw("rect", { width: 100 * Math.min(share, 1), height: 1 }));

/** Fill a list; what says the same about the same things stays: a button that is replaced would lose the focus of those who use the keyboard. */
export const refill = (list, entries, names = []) => {
	const content = [...names, ...entries.map(({ textContent }) => textContent)].join("\n");
	if (list.dataset.content !== content) list.replaceChildren(...entries);
	list.dataset.content = content;
};

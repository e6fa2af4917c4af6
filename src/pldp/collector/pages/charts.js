/** Charts without words of their own: the tables around them say the same. */
import { draw } from "./dom.js";

const step = (span, count) => {
	const rough = span / count;
	const power = 10 ** Math.floor(Math.log10(rough));
	return [1, 2, 5, 10].find((lead) => lead * power >= rough) * power;
};

/** Round ends and ticks around some numbers; `place` says where between the ends a number is, from 0 to 1. */
export const scaleOf = (numbers, count = 4) => {
	const known = numbers.filter(Number.isFinite);
	const [low, high] = [Math.min(...known), Math.max(...known)];
	const size = step(high - low || 1, count);
	const [from, to] = [Math.floor(low / size + 1e-9), Math.max(Math.ceil(high / size - 1e-9), Math.floor(low / size) + 1)];
	const ticks = Array.from({ length: to - from + 1 }, (_, place) => (from + place) * size);
	return { from: from * size, to: to * size, ticks, place: (number) => (number - from * size) / ((to - from) * size) };
};

const at = (scale, number) => `${(100 * scale.place(number)).toFixed(2)}%`;
const anchor = (place, last) => (place === 0 ? "start" : place === last ? "end" : "middle");

export const axis = (scale, write) =>
	draw("svg", { class: "axis", "aria-hidden": "true" }, ...scale.ticks.map((tick, place) =>
		draw("text", { x: at(scale, tick), y: "1em", "text-anchor": anchor(place, scale.ticks.length - 1) }, write(tick))));

const line = (kind, x1, x2, y1, y2) => draw("line", { class: kind, x1, x2, y1, y2 });

/** A bar from 0 to what is consistent, a dot at the estimate, and a line over its interval. */
export const interval = (scale, { estimate, low, high, consistent }) => {
	const marks = scale.ticks.map((tick) => line(tick === 0 ? "zero" : "grid", at(scale, tick), at(scale, tick), 0, "100%"));
	if (Number.isFinite(consistent)) {
		const width = `${(100 * (scale.place(consistent) - scale.place(0))).toFixed(2)}%`;
		marks.push(draw("rect", { class: "bar", x: at(scale, 0), y: "20%", width, height: "60%" }));
	}
	if (Number.isFinite(low)) {
		marks.push(line("reach", at(scale, low), at(scale, high), "50%", "50%"));
		for (const end of [low, high]) marks.push(line("reach", at(scale, end), at(scale, end), "35%", "65%"));
	}
	marks.push(draw("circle", { class: "dot", cx: at(scale, estimate), cy: "50%", r: 4.5 }));
	return draw("svg", { class: "interval", "aria-hidden": "true" }, ...marks);
};

const path = (points) => points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Where a curve's picture ends: a band that is much higher is cut. */
export const topOf = ({ shares, high }) => Math.min(Math.max(...high), 1.6 * Math.max(...shares)) * 1.05;

/** A curve with its band, the mean with its interval behind it; drawn anew when its width changes. */
export const curve = ({ edges, shares, low, high }, mean, write) => (width) => {
	const [height, foot] = [200, 22];
	const [from, to] = [edges[0], edges.at(-1)];
	const top = topOf({ shares, high });
	const x = (number) => (width * (number - from)) / (to - from);
	const y = (share) => (height - foot) * (1 - Math.min(share, top) / top);
	const middles = shares.map((_, place) => x((edges[place] + edges[place + 1]) / 2));
	const along = (heights) => heights.map((share, place) => [middles[place], y(share)]);
	const ticks = scaleOf([from, to], Math.max(2, Math.floor(width / 80))).ticks.filter((tick) => tick >= from && tick <= to);
	return draw("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" },
		draw("rect", { class: "around", x: x(mean.low), y: 0, width: Math.max(1, x(mean.high) - x(mean.low)), height: height - foot }),
		draw("path", { class: "band", d: `${path([...along(high), ...along(low).reverse()])}Z` }),
		draw("path", { class: "fitted", d: path(along(shares)) }),
		line("mean", x(mean.estimate), x(mean.estimate), 0, height - foot),
		line("zero", 0, width, height - foot, height - foot),
		...ticks.map((tick) => draw("text", { x: x(tick), y: height - 5, "text-anchor": tick === from ? "start" : tick === to ? "end" : "middle" }, write(tick))));
};

/** Estimates over rounds with their intervals, joined by a line; `names` stand below. */
export const course = (points, names, write) => (width) => {
	const [height, foot, head, left] = [110, 18, 14, 44];
	const scale = scaleOf(points.flatMap(({ estimate, low, high }) => [estimate, low, high]), 3);
	const y = (number) => head + (height - foot - head) * (1 - scale.place(number));
	const x = (place) => left + ((width - left) * (place + 0.5)) / names.length;
	const of = ({ round }) => x(names.indexOf(round));
	const every = Math.ceil((64 * names.length) / Math.max(1, width - left));
	return draw("svg", { class: "course", viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" },
		...scale.ticks.flatMap((tick) => [line(tick === 0 ? "zero" : "grid", 0, width, y(tick), y(tick)), draw("text", { x: 0, y: y(tick) - 2 }, write(tick))]),
		draw("path", { class: "fitted", d: path(points.map((point) => [of(point), y(point.estimate)])) }),
		...points.filter(({ low }) => Number.isFinite(low)).map((point) => line("reach", of(point), of(point), y(point.low), y(point.high))),
		...points.map((point) => draw("circle", { class: "dot", cx: of(point), cy: y(point.estimate), r: 4 })),
		...names.flatMap((name, place) => ((names.length - 1 - place) % every ? [] : [draw("text", { x: x(place), y: height - 3, "text-anchor": "middle" }, name)])));
};

/** One bar per hour, what was rejected on top of what was stored. */
export const columns = (hours, write) => (width) => {
	const [height, foot, head] = [160, 22, 16];
	const most = Math.max(1, ...hours.map((hour) => hour.stored + hour.rejected));
	const each = Math.min(48, width / hours.length);
	const y = (count) => head + (height - foot - head) * (1 - count / most);
	const every = Math.ceil(60 / each);
	return draw("svg", { class: "columns", viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" },
		...hours.flatMap((hour, place) => {
			const box = { x: place * each + each * 0.1, width: each * 0.8 };
			const marks = [
				draw("rect", { class: "stored", ...box, y: y(hour.stored), height: height - foot - y(hour.stored) }),
				draw("rect", { class: "rejected", ...box, y: y(hour.stored + hour.rejected), height: y(hour.stored) - y(hour.stored + hour.rejected) }),
			];
			if (place % every === 0 && (place * each < width - 40 || place === 0)) marks.push(draw("text", { x: (place + 0.1) * each, y: height - 5 }, write(hour.start)));
			return marks;
		}),
		line("zero", 0, width, height - foot, height - foot),
		draw("text", { x: 0, y: 11 }, `${most.toLocaleString("en")} at most`));
};

const drawings = new WeakMap();
const widths = new ResizeObserver((entries) => {
	for (const { target, contentRect } of entries) fill(target, contentRect.width);
});

const fill = (holder, width) => {
	if (width > 0) holder.replaceChildren(drawings.get(holder)(Math.round(width)));
};

/** Keep a drawing that depends on the width in an element. */
export const fit = (holder, drawing) => {
	drawings.set(holder, drawing);
	widths.observe(holder);
	fill(holder, holder.clientWidth);
};

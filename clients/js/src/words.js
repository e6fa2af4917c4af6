/** The device's own words. A page can bring those of another language, with the same keys. */

/** Put values in the place of {names}. */
export const fill = (text, values = {}) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

const ENGLISH = {
	"level": 'Level "{level}", question "{question}":',
	"level.shown": "Your report shows the level that you chose.",
	"choice.true": "of 100 people whose answer is {label}, about {truth} send a report that {says};",
	"choice.other": "of 100 people whose answer is something else, about {other} do.",
	"choice.odds": "Whatever your report says, it changes the odds between any two answers at most {odds}.",
	"says.label": "says {label}",
	"says.among": "has {label} among the ticked boxes",
	"says.ticks": "ticks {label} among other boxes",
	"says.group": "names a group of answers that contains {label}",
	"says.groups": "names two groups of answers, one of which contains {label}",
	"quoted": '"{label}"',
	"times": "{number} times",
	"odds": "{times} (ε = {epsilon})",
	"box": "of 100 people who tick {label}, about {kept} reports have it ticked; of 100 who do not, about {raised}",
	"box.odds": "{box} (odds change at most {times}, ε = {epsilon}).",
	"box.epsilon": "{box} (ε = {epsilon}).",
	"box.sides": "{box} (a report with the tick speaks for it {ticked}, one without it against it {unticked}).",
	"box.every": "{box}, and so for every box.",
	"boxes.cost": "All boxes together cost ε = {epsilon}.",
	"boxes.more": "({count} more boxes are protected in the same way.)",
	"boxes.about": "your report is about {count} of the {size} boxes, picked at random whatever you tick;",
	"boxes.chosen": "your report ticks up to {count} of the {size} boxes, whatever you tick;",
	"boxes.odds": "Whatever your report says, it changes the odds between any two sets of boxes at most {odds}.",
	"limit": "at most {odds}",
	"limit.none": "without a limit",
	"labels.more": "({count} more answers are protected in the same way.)",
	"labels.others": "{labels} and {count} others",
	"report.proves": "A report {label} proves the value {label} (ε infinite).",
	"report.rules out": "A report {label} rules out {labels} (ε infinite).",
	"report.changes": "A report {label} changes the odds between any two values at most {odds}; {label} gains on all others.",
	"value.proved": "A report can prove {label} against another value (ε infinite): {labels}.",
	"value.alike": "No report changes the odds between {label} and another value by more than {odds}.",
	"value.denied": "No report speaks for {label} against another value by more than {odds}; against {label}, one can speak up to {most}: {labels}.",
	"value.ruled out": "No report speaks for {label} against another value by more than {odds}; against {label}, one can rule it out (ε infinite): {labels}.",
	"number.points": "your number is rounded at random to one of the two nearest of {buckets} points from {low} to {high}{unit}, and a random number is sent that is only a little more likely to be near it.",
	"number.steps": "your number is rounded to one of {buckets} steps between {low} and {high}{unit}, and a random number is sent that is only a little more likely to be near it.",
	"number.odds": "Whatever your report says, it changes the odds between any two numbers at most {odds}.",
	"repeat.once": "Asked again, you send the same report or none.",
	"repeat.fresh": "Every round is a new draw and costs ε = {epsilon} again.",
	"repeat.tracked": "Asked again, you pay: one report ε = {report}; an answer that never changes, however often it is asked ε = {permanent}; every round in which two life stories differ ε = {instant}.",
	"cap.signer": "Your device stops at ε = {cap} for the signer of this survey; {spent} is spent.",
	"cap.others": "Your device stops at ε = {cap} for all surveys without a signature that it trusts; {spent} is spent.",
};

/** Apart from the table, so that a bundle in which nothing says it can leave it out. */
export const SHUFFLE = {
	"shuffle": "{by} promises to mix your report with at least {others} others before anyone else sees it, and to pass on no name, address or time. If that is so, anyone who sees only mixed reports or results learns far less about you than your level allows. If it is not so, and towards {by} itself, only your level protects you.",
};

/**
 * What turns keys and values into sentences: `say(key, values, otherwise)`, how `number(text)` is written, and what a label or a
 * unit of a question is called.
 */
export const wordsOf = (texts, { number = (text) => String(text), label = (_, text) => text, unit = ({ unit }) => unit } = {}) => {
	const say = (key, values, otherwise = texts) => fill(texts[key] ?? otherwise[key] ?? key, values);
	return { say, number, label, unit, quoted: (question, text) => say("quoted", { label: label(question, text) }) };
};

export const english = wordsOf(ENGLISH);

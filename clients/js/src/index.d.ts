/** An error of this package: name is that of the error in Python. The message never contains a raw answer. */
export class PldpError extends Error {
	name:
		| "SurveyError"
		| "SignatureError"
		| "AnswerError"
		| "BudgetError"
		| "EpsilonError"
		| "DeviceStateError";
}

/** A protection that a person can choose: ε in millionths. */
export interface Level {
	readonly name: string;
	readonly micro: number;
	readonly text: string;
}

/** A level as one question offers it. */
export interface QuestionLevel extends Level {
	/** What an answer costs, in millionths: `micro`, or for `choices` the sum over all labels with a budget each. */
	readonly charge: number;
	/** Whether some label has no protection at this level, so that a report can prove it. */
	readonly unprotected: boolean;
	/** The integers that define the channel. */
	readonly weights: ReadonlyMap<string, number | readonly number[]>;
	/**
	 * Where answers are tracked, what else they cost, in millionths: an answer that never changes, however often it is
	 * asked, and every round in which two life stories differ.
	 */
	readonly stages?: { readonly prices: readonly [permanent: number, instant: number] };
}

interface AnyQuestion {
	readonly name: string;
	readonly text: string;
	/** What a device knows the question by: a hash of its name, text, labels, levels and weights. */
	readonly identity: string;
	/** Whether people who are asked it cannot skip it. */
	readonly required: boolean;
	/** The levels on offer, strictest first. */
	readonly levels: readonly QuestionLevel[];
	/** The level of this name; the strictest if there is none. */
	levelOf(name?: string | null): QuestionLevel;
}

/** One label (`choice`) or any number of them (`choices`). */
export interface LabelQuestion extends AnyQuestion {
	readonly kind: "choice" | "choices";
	readonly values: readonly string[];
	/** Whether people see the labels in random order: see `Device.options`. */
	readonly inRandomOrder: boolean;
	/** Of `choices`: the most labels that may be ticked. */
	readonly atMost?: number;
	/** Of `choices`: labels that cannot be ticked together with others. */
	readonly exclusive?: readonly string[];
	/** Of `choices`: whether a level's ε protects the whole set of labels, not each label. */
	readonly whole?: boolean;
}

/** A number in public bounds, which are decimal text as in the file. */
export interface NumberQuestion extends AnyQuestion {
	readonly kind: "number";
	readonly low: string;
	readonly high: string;
	/** Steps that the number is rounded to. */
	readonly buckets: number;
	/** Empty if there is none. */
	readonly unit: string;
	/** What becomes of a number outside the bounds. */
	readonly outside: "refuse" | "clip";
}

export type Question = LabelQuestion | NumberQuestion;

/** A label, different labels in any order, or a number, as the question's kind asks. */
export type Value = string | Iterable<string> | number;

/** A checked survey; see the page on survey files. */
export interface Survey {
	readonly title: string;
	readonly collector: string;
	readonly levels: readonly Level[];
	readonly questions: readonly Question[];
	/** How many of the questions each person is asked; undefined: all. */
	readonly ask: number | undefined;
	/** The most that one person can spend on this survey, in millionths; Infinity: no limit. */
	readonly total: number;
	/** What happens when the same person is asked again. */
	readonly repeat: "once" | "fresh" | "tracked";
	/** Who promises to mix reports before anybody else sees them, and how many at least; undefined: nobody. */
	readonly shuffle: { readonly by: string; readonly people: number } | undefined;
	/** Introduction, thanks, contact and notice, as far as there are any. */
	readonly texts: { readonly introduction?: string; readonly thanks?: string; readonly contact?: string; readonly notice?: string };
	/** The last day on which reports are taken, such as 2026-12-31; empty: no end. */
	readonly closes: string;
	/** Name of the logo's file; empty: none. */
	readonly logo: string;
	/** The language of all texts, and the others that there are. */
	readonly language: string;
	readonly languages: readonly string[];
	/** A text in another language by its place, such as ("de", "questions", "mode", "text"); undefined: there is none. */
	translation(language: string, ...path: string[]): string | undefined;
	/** SHA-256 of the canonical bytes, the same as in Python. */
	readonly hash: string;
	/** The public key that signed the file; empty: nobody. */
	readonly signer: string;
	/** Whether that key is the `trustedKey`. */
	readonly trusted: boolean;
	/** Who asks, as far as a device can know: the signer, or else the hash. */
	readonly author: string;
	/** Whose account on the device pays: the signer's if it is trusted, or else the empty one for all others. */
	readonly account: string;
	question(name: string): Question;
}

/**
 * Read a survey as `pldp survey compile` or `pldp survey sign` writes it. It is refused if a rule is broken, if the
 * weights of a channel do not keep the promised ε, or if a signature does not fit.
 * With `trustedKey` (hexadecimal Ed25519) it is also refused if that key did not sign it.
 */
export function readSurvey(text: string, options?: { trustedKey: string }): Promise<Survey>;

/** What is sent: `JSON.stringify(report)`, and spaces behind it, so that all reports of a survey have one length. */
export interface Report {
	readonly pldp: 1;
	readonly survey: string;
	readonly id: string;
	readonly answers: readonly Answer[];
}

export interface Answer {
	readonly question: string;
	/** The chosen level, or, where the survey hides levels, its perturbation or the level that a lottery drew. */
	readonly level: string;
	/** An integer, or packed bits in hexadecimal. */
	readonly output: number | string;
}

/** Where text is kept. */
export interface Store {
	/** Stores of the same name are the same content to Web Locks. */
	readonly name?: string;
	read(): Promise<string | null>;
	/** Write `after` if the content is still `before`; tell whether it was. Comparing and writing must be one step. */
	swap(before: string | null, after: string): Promise<boolean>;
}

/** As long as the page lives. */
export function memoryStore(): Store;
/** `localStorage` or alike; a tab may see another tab's change late, so prefer `databaseStore`. */
export function webStore(name?: string, storage?: Pick<Storage, "getItem" | "setItem">): Store;
/** IndexedDB: comparing and writing are one transaction over all tabs and workers. */
export function databaseStore(name?: string): Store;

/** One entry of the ledger, in the words of Python's state file. */
export interface Spend {
	readonly survey: string;
	readonly question: string;
	/** Empty where the survey hides levels: then the dearest is charged. */
	readonly level: string;
	readonly micro_epsilon: number;
	readonly round: number;
	readonly account: string;
}

export type PerQuestion<T> = Readonly<Record<string, T>> | ReadonlyMap<string, T>;

/** Sentences by their key, how numbers are written, and what labels and units are called. */
export interface Words {
	say(key: string, values?: Readonly<Record<string, unknown>>): string;
	number(text: string | number): string;
	label(question: Question, label: string): string;
	unit(question: Question): string;
	quoted(question: Question, label: string): string;
}

/**
 * What a report would cost; where levels are hidden, also what it tells about the level. By a lottery, `cost` is the most that it can
 * cost, infinite where the choice is stricter than the level `drawn` before and `newLabel` does not ask for another draw.
 */
export interface Quote {
	readonly cost: number;
	readonly level: { readonly before: number; readonly after: number; readonly cap: number; readonly hasLabel: boolean } | null;
	readonly drawn?: string | null;
}

/**
 * Answers one survey for one person: perturbs, remembers, accounts. A question that was answered is not drawn again: in
 * the same round the same report goes out, whatever the answer, and in a later one nothing does, unless the survey's
 * `repeat` is "fresh" or "tracked".
 */
export interface Device {
	/** Names of the questions that this person is asked in this round. */
	readonly asked: readonly string[];
	readonly round: number;
	/** Names of the questions that this device does not answer again, in this round or ever. */
	answered(): Promise<string[]>;
	/** The report that has answered a question, and its round; null if none has. */
	sent(question: string): Promise<{ readonly report: Report; readonly round: number } | null>;
	/** Perturb one answer at this level (the strictest if none is named). */
	answer(question: string, value: Value, level?: string | null): Promise<Report>;
	/**
	 * Perturb several answers into one report; either every answer fits the ledger, or none is drawn. Where levels are hidden, all
	 * have one level, and its label is drawn once and repeated whatever level is chosen later; with `newLabel` the person says that
	 * they choose another level than before: a new label is drawn and charged, and the change may show. By a lottery, the level
	 * that is used and shown is drawn so; a stricter choice than that needs `newLabel`.
	 */
	answerAll(values: PerQuestion<Value>, levels?: PerQuestion<string | null> | string | null, options?: { newLabel?: boolean }): Promise<Report>;
	/** The secret that withdraws a report of this device at the collector: 64 hexadecimal digits. */
	receipt(report: Report): Promise<string>;
	/**
	 * Forget the report that answers a question and return its receipt, which the collector must be shown. All its questions
	 * can then be answered again, at a new price: what was spent stays spent.
	 */
	withdraw(question: string): Promise<string>;
	/**
	 * What new reports would cost now, in millionths: a function of their questions and levels. Where levels are hidden it also says what
	 * was told about the level before and after such a report, the cap on that, and whether a label was sent.
	 */
	quote(options?: { newLabel?: boolean }): Promise<(asked: readonly (readonly [question: string, level?: string | null])[]) => Quote>;
	/** Set the caps, also to more than before. Only the person may ask for that. */
	changeCap(cap?: number | string | null, options?: { levelCap?: number | string | null }): Promise<void>;
	/** The labels of a question in the order in which this person is shown them; none for a number. */
	options(question: string): Promise<string[]>;
	/** What a level does to an answer, in words: English, or those of another language. */
	explain(level?: string | null, question?: string | null, words?: Words): string;
	/** What this person has spent, in millionths, and the most that each account may spend. */
	ledger(): { readonly spends: readonly Spend[]; readonly total: number; readonly cap: number; readonly levelCap: number };
	/** How much of the survey's total this person can still spend. */
	remaining(): string;
}

export interface DeviceOptions {
	/** Where secret, sent reports and ledger are kept; in memory if left out. */
	store?: Store;
	/**
	 * The most ε that this person will ever spend on one collector: on surveys signed by one trusted key, or on all others
	 * together. It can tighten what the store keeps (20 at first), never loosen it: see `changeCap`.
	 */
	cap?: number | string | null;
	/** The most ε that reports to one author may ever tell about a hidden level; 3 at first, and as `cap` otherwise. */
	levelCap?: number | string | null;
	/** Number of the collector's round; 1 if left out. */
	round?: number;
	/** Source of random bytes, for tests only. */
	random?: (count: number) => Uint8Array;
}

export function openDevice(survey: Survey, options?: DeviceOptions): Promise<Device>;

/** "dropped": refused for good. "kept": try again, not before `wait` milliseconds. */
export interface Sending {
	readonly outcome: "sent" | "dropped" | "kept";
	/** The HTTP status, or why the collector was not reached. */
	readonly reason: string;
	readonly wait: number;
	/** The collector's own word for a refusal. */
	readonly code?: string;
}

/** Send one report once. */
export function send(url: string, survey: Survey, report: Report, options?: { fetch?: typeof fetch }): Promise<Sending>;

/** Take a report back at the collector's address for that. "sent": it is erased. "dropped": no stored report has the device's receipt. */
export function withdraw(url: string, receipt: string, options?: { fetch?: typeof fetch }): Promise<Sending>;

export interface QueueOptions {
	/** Where waiting reports are kept, apart from the device's state. */
	store?: Store;
	fetch?: typeof fetch;
	now?: () => number;
}

/** What became of each report, how many wait, and the time (as of `now`) before which nothing is sent. */
export interface Flushed {
	readonly results: readonly (Sending & { readonly id: string })[];
	readonly waiting: number;
	readonly due: number;
}

/** Reports that could not be sent yet, sent with growing pauses. */
export interface Queue {
	/** Keep a report for the survey, and send what waits if it is time. With a round, the report goes to `url?round=N`, also later. */
	add(report: Report, options?: { round?: number }): Promise<Flushed>;
	/** Send what waits if it is time. */
	flush(): Promise<Flushed>;
}

export function openQueue(url: string, survey: Survey, options?: QueueOptions): Queue;

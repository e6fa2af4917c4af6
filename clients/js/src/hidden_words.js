/** The device's words where levels are hidden, apart from the others: few surveys need them. */
export const HIDDEN = {
	"hidden.one": "Your level is hidden: label and this answer together change the odds between any two levels at most {odds};",
	"hidden.all": "Your level is hidden: label and all {count} answers at one level together change the odds between any two levels at most {odds};",
	"hidden.pairs": "label and this answer, between any two pairs of answer and level, at most {odds}.",
	"repeat.hidden": "Every round is a new draw: the first costs ε = {first} with the label, every further one ε = {later}.",
	"label.kept": "The label is drawn once for the signer of this survey: later reports repeat it, whatever level you choose.",
	"label.unsigned": "This survey is not signed: over its editions nothing is promised about your level, as each draws a label.",
	"label.cap": "Your device stops before reports tell more than ε = {cap} about your level.",
	"lottery": 'Your device may answer more strictly than you chose, and then changes these odds less. Your report shows the level that it used. Who sees "{strictest}" cannot know that you chose it; who sees "{open}" can.',
	"lottery.told": "For a stricter choice, all your reports together change the odds at most {odds}.",
	"lottery.kept": "The level that it uses is drawn once for the signer of this survey: later reports use it again.",
	"lottery.unsigned": "This survey is not signed: over its editions nothing is promised about your level, as each draws one.",
};

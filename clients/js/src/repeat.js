/** What happens when a question is asked again, and what that costs: see pldp.survey.repeat. */
export const [ONCE, FRESH, TRACKED] = ["once", "fresh", "tracked"];
export const RULES = [ONCE, FRESH, TRACKED];

/** What answers at a level cost over time, apart from the caps that end them: [what, millionths]. */
export const pricesOf = (repeat, { charge, stages }) => {
	if (repeat === ONCE) return [["this question, however often it is asked", charge]];
	if (repeat === FRESH) return [["every round", charge]];
	const [permanent, instant] = stages.prices;
	return [
		["one report", charge],
		["an answer that never changes, however often it is asked", permanent],
		["every round in which two life stories differ", instant],
	];
};

/** What the next report costs after so many earlier ones at this level, whatever the answers were. */
export const chargeOf = ({ charge, stages }, earlier) => (stages && earlier ? stages.prices[1] : charge);

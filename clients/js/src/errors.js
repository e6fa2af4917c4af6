export class PldpError extends Error {}

export const fail = (name, message) => {
	throw Object.assign(new PldpError(message), { name });
};

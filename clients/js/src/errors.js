/** `name` is that of the error in Python. A message never contains a raw answer. */
export class PldpError extends Error {}

export const fail = (name, message) => {
	throw Object.assign(new PldpError(message), { name });
};

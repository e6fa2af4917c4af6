export { openDevice } from "./device.js";
export { PldpError } from "./errors.js";
export { openQueue, send, withdraw } from "./queue.js";
export { databaseStore, memoryStore, webStore } from "./state.js";
export { readSurvey } from "./survey.js";

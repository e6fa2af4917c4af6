import { readSurvey } from "./device/index.js";

const survey = await readSurvey(await (await fetch("v1/survey")).text());
document.title = survey.title;
document.getElementById("title").textContent = survey.title;

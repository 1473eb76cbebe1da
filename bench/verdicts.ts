// How often each rule is right, ours beside the peers': on a noise model, on recorded runs, builds and machines, and under faults.
// Writes bench/verdict-truth.md and its picture; seeds are fixed. `node bench/verdicts.ts [part of the replicates, 1 by default; 0: only the picture]`
import { readFileSync, writeFileSync } from "node:fs";
import { renderMarkdown, renderPicture, scoreAll } from "./verdicts/table.ts";

const part = Number(process.argv[2] ?? 1);
if (!(part >= 0 && part <= 10)) throw new Error("Usage: node bench/verdicts.ts [part of the replicates]");
const path = new URL("verdict-truth.md", import.meta.url);
let page = readFileSync(path, "utf8");
if (part > 0) {
	const tables = renderMarkdown(scoreAll(part, ({ name }) => console.error(name)));
	console.log(tables);
	page = `${page.split(/^## /m, 1)[0]}${tables}`;
}
if (part <= 1 && Number.isInteger(part)) {
	writeFileSync(path, page);
	writeFileSync(new URL("verdict-truth.svg", import.meta.url), renderPicture(page));
}

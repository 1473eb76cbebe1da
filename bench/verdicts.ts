// How often each rule is right, ours beside the peers': on a noise model, on recorded runs, builds and machines, and under faults.
// Writes docs/verdict-truth.md and its picture; seeds are fixed. `node bench/verdicts.ts [part of the replicates, 1 by default]`
import { readFileSync, writeFileSync } from "node:fs";
import { renderMarkdown, renderPicture, scoreAll } from "./verdicts/table.ts";

const part = Number(process.argv[2] ?? 1);
if (!(part > 0 && part <= 10)) throw new Error("Usage: node bench/verdicts.ts [part of the replicates]");
const scores = scoreAll(part, ({ name }) => console.error(name));
const tables = renderMarkdown(scores);
console.log(tables);
if (part === 1) {
	const page = new URL("../docs/verdict-truth.md", import.meta.url);
	const [before = ""] = readFileSync(page, "utf8").split(/^## /m, 1);
	writeFileSync(page, `${before}${tables}`);
	writeFileSync(new URL("../docs/verdict-truth.svg", import.meta.url), renderPicture(scores));
}

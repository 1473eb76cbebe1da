// How exact the counted work is on public models, and how far it follows time. Downloads its models, as zoo.ts does.
// node bench/work.ts zoo [NAME …]      the same model again, and one with more convolutions: bench/counted/zoo.tsv
// node bench/work.ts ratios [NAME …]   counts and times of variants: bench/counted/ratios.tsv
// node bench/work.ts                   tables from these files
// PYTHON names an interpreter with onnx, numpy and onnxruntime.
import { readFileSync, rmSync } from "node:fs";
import { benchRatios, ratioTable, readRatios, resultPath } from "./counted/ratios.ts";
import { scratch } from "./counted/setup.ts";
import { benchZoo } from "./counted/zoo.ts";

const [what, ...names] = process.argv.slice(2);
try {
	if (what === "zoo" && !(await benchZoo(names, resultPath("zoo.tsv")))) process.exitCode = 1;
	if (what === "ratios") await benchRatios(names, resultPath("ratios.tsv"));
	if (what === undefined) {
		console.log(ratioTable(readRatios(resultPath("ratios.tsv"))));
		console.log(`\n${readFileSync(resultPath("zoo.tsv"), "utf8")}`);
	}
} finally {
	rmSync(scratch, { recursive: true, force: true });
}

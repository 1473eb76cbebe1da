// Runs the live demo beside programs that come in bursts, again and again: each run has to give the same figures in at most 15 s.
// node bench/demo.ts [--runs 20] [--neighbours 3] [--node PATH]…   (each path is an interpreter of its own)
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Result } from "../generated/result.ts";

const { values } = parseArgs({
	options: {
		runs: { type: "string", default: "20" },
		neighbours: { type: "string", default: "3" },
		node: { type: "string", multiple: true, default: [process.execPath] },
	},
});
const mostSeconds = 15;
const cli = resolve(import.meta.dirname, "../dist/cli.js");

/** Busy for up to two seconds, idle for as long, by chance. */
const bursts = `const random = (s => () => (s = Math.imul(s, 1664525) + 1013904223 >>> 0) / 2 ** 32)(Number(process.argv[1]));
const burst = () => { const end = Date.now() + 2000 * random(); while (Date.now() < end) Math.sqrt(end); setTimeout(burst, 2000 * random()); }; burst();`;
const neighbours = Array.from({ length: Number(values.neighbours) }, (_, seed) =>
	spawn(process.execPath, ["-e", bursts, String(seed + 1)], { stdio: "ignore" }),
);

/** What a user sees of the verdicts, to the last digit. */
function figuresOf({ workloads, golden, outcome }: Result): unknown {
	const rows = workloads.map(({ id, verdict, work, layers, explanation, doubt }) => ({
		id,
		verdict,
		work,
		layers,
		explanation,
		doubt,
	}));
	return { outcome, rows, golden: golden.map(({ model, case: name, state }) => [model, name, state]) };
}

function isRight({ workloads, golden, outcome }: Result): boolean {
	const verdicts = workloads.map(
		({ model, verdict }) => verdict === (model === "detector" ? "regressed" : "unchanged"),
	);
	const states = golden.map(({ model, state }) => (state === "match") === (model !== "segmenter"));
	return outcome === "fail" && [...verdicts, ...states].every(Boolean);
}

async function play(node: string): Promise<{ seconds: number; result: Result }> {
	const out = mkdtempSync(join(tmpdir(), "trtgate-demo-"));
	const started = performance.now();
	const child = spawn(node, [cli, "demo", "--out", out], { stdio: "ignore" });
	await new Promise((done) => child.on("exit", done));
	const seconds = (performance.now() - started) / 1000;
	const result: Result = JSON.parse(readFileSync(join(out, "result.json"), "utf8"));
	rmSync(out, { recursive: true });
	return { seconds, result };
}

const figures = new Set<string>();
let isGood = true;
for (const node of values.node) {
	const seconds: number[] = [];
	let right = 0;
	for (let run = 0; run < Number(values.runs); run += 1) {
		const played = await play(node);
		seconds.push(played.seconds);
		if (isRight(played.result)) right += 1;
		figures.add(
			createHash("sha256")
				.update(JSON.stringify(figuresOf(played.result)))
				.digest("hex"),
		);
	}
	seconds.sort((a, b) => a - b);
	const [median = 0, most = 0] = [seconds[seconds.length >> 1], seconds.at(-1)];
	console.log(
		`${node}: right ${right} of ${values.runs}, ${median.toFixed(1)} s in the median, ${most.toFixed(1)} s at most`,
	);
	isGood &&= right === Number(values.runs) && most <= mostSeconds;
}
for (const neighbour of neighbours) neighbour.kill();
console.log(
	`${figures.size === 1 ? "The figures are the same in all runs" : `There are ${figures.size} different sets of figures`}.`,
);
if (!isGood || figures.size !== 1) process.exitCode = 1;

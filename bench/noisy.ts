// Runs the demo beside bursty neighbours and counts right answers: the segmenter's golden fails, the detector is slower, all else is unchanged.
// node bench/noisy.ts [--runs 2] [--neighbours 3] [--node PATH]: 20 runs are the real trial, in about 10 minutes on two cores.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Pair } from "../src/core/compare/noise.ts";
import { judgePairs } from "../src/core/compare/verdict.ts";
import type { Result, WorkloadResult } from "../src/core/schema/result.ts";

const { values } = parseArgs({
	options: {
		runs: { type: "string", default: "2" },
		neighbours: { type: "string", default: "3" },
		node: { type: "string", default: process.execPath },
	},
});
const runs = Number(values.runs);
const folder = mkdtempSync(join(tmpdir(), "trtgate-noisy-"));
const neighbours = Array.from({ length: Number(values.neighbours) }, (_, index) =>
	spawn(process.execPath, ["bench/noisy/neighbour.ts", String(index + 1)], { stdio: "ignore" }),
);

/** The fault of a result, or "". */
function faultOf({ golden, workloads }: Result): string {
	const wrong = workloads.filter(({ model, verdict }) => verdict !== (model === "detector" ? "regressed" : "unchanged"));
	const mismatches = [...new Set(golden.filter(({ state }) => state !== "match").map(({ model }) => model))];
	return [
		...wrong.map(({ id, verdict, latency }) => `${id} is ${verdict}: ${latency.reason ?? ""}`),
		...(mismatches.join() === "segmenter" ? [] : [`goldens that fail: ${mismatches.join(", ")}`]),
	].join("; ");
}

function pairsOf({ runs: all }: WorkloadResult): Pair[] {
	const figure = (arm: "base" | "head", pair: number) =>
		all.find((run) => run.arm === arm && run.pair === pair && run.state === "ok")?.minMs;
	return [...new Set(all.map(({ pair }) => pair))].flatMap((pair) => {
		const [base, head] = [figure("base", pair), figure("head", pair)];
		return base === undefined || head === undefined ? [] : [{ base, head }];
	});
}

function sdOf(pairs: readonly Pair[]): number {
	const logs = pairs.map(({ base, head }) => Math.log(head / base));
	const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
	return Math.sqrt(logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1));
}

const sds: number[] = [];
let [right, same, falseAlarms, tenPercentFound] = [0, 0, 0, 0];
const wallsMs: number[] = [];
try {
	for (let run = 0; run < runs; run += 1) {
		const startedMs = performance.now();
		const demo = spawnSync(values.node, ["dist/cli.js", "demo", "--quiet", "--out", join(folder, `${run}`)], { encoding: "utf8" });
		wallsMs.push(performance.now() - startedMs);
		if (demo.status !== 0) throw new Error(`demo ended with ${demo.status}: ${demo.stderr}`);
		const result = JSON.parse(readFileSync(join(folder, `${run}`, "result.json"), "utf8")) as Result;
		const fault = faultOf(result);
		if (fault === "") right += 1;
		for (const workload of result.workloads.filter(({ latency }) => latency.pairs > 0)) {
			const pairs = pairsOf(workload);
			sds.push(sdOf(pairs));
			if (workload.model === "detector") continue;
			const { minimalEffect } = workload.latency;
			const judged = judgePairs(
				pairs.map(({ base, head }) => ({ base, head: 1.1 * head })),
				{ minimalEffect, looks: [5, 8, 12], share: 0.2 },
			);
			same += 1;
			if (workload.verdict === "regressed" || workload.verdict === "improved") falseAlarms += 1;
			if (judged.verdict === "regressed") tenPercentFound += 1;
		}
		const seconds = ((wallsMs.at(-1) ?? 0) / 1000).toFixed(1);
		console.log(`run ${run + 1}: ${fault === "" ? "right" : `WRONG: ${fault}`} · ${seconds} s · load ${loadavg()[0]?.toFixed(1)}`);
	}
} finally {
	for (const neighbour of neighbours) neighbour.kill("SIGKILL");
	rmSync(folder, { recursive: true });
}
const middle = (all: number[]): number => all.sort((left, right) => left - right)[Math.floor(all.length / 2)] ?? Number.NaN;
console.log(`${right} of ${runs} demos right beside ${neighbours.length} bursty neighbours on ${availableParallelism()} cores`);
console.log(
	`median ${(middle(wallsMs) / 1000).toFixed(1)} s a demo · sd of a pair: median ${(100 * middle(sds)).toFixed(2)} %, largest ${(100 * Math.max(...sds)).toFixed(2)} %`,
);
console.log(
	`equal arms: ${falseAlarms} of ${same} called slower or faster; +10 % put on the same pairs: ${tenPercentFound} of ${same} called slower`,
);
if (right < runs) process.exitCode = 1;

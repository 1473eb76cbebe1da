// Runs the demo beside bursty neighbours and counts right answers: the segmenter's golden fails, the detector is slower, all else is unchanged.
// node bench/noisy.ts [--runs 2] [--neighbours 3] [--node PATH …] [--lane 0/1] [--json FILE]: 20 runs are the real trial, in 10 minutes on two cores.
// Runs take turns among the Nodes. Lane 3 of 16 takes each 16th run from the third on; pin each lane to cores of its own (taskset).
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Pair } from "../src/core/compare/noise.ts";
import { judgePairs } from "../src/core/compare/verdict.ts";
import type { Result, WorkloadResult } from "../src/core/schema/result.ts";
import { median } from "../src/core/stats/quantile.ts";

const { values } = parseArgs({
	options: {
		runs: { type: "string", default: "2" },
		neighbours: { type: "string", default: "3" },
		node: { type: "string", multiple: true, default: [process.execPath] },
		lane: { type: "string", default: "0/1" },
		json: { type: "string" },
	},
});
const [lane = 0, lanes = 1] = values.lane.split("/").map(Number);
const runs = Array.from({ length: Number(values.runs) }, (_, run) => run).filter((run) => run % lanes === lane);
const folder = mkdtempSync(join(tmpdir(), "trtgate-noisy-"));
const neighbours = Array.from({ length: Number(values.neighbours) }, (_, index) =>
	spawn(process.execPath, ["bench/noisy/neighbour.ts", String(1000 * lane + index + 1)], { stdio: "ignore" }),
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

/** As on a machine that never ran it: nothing is unpacked or taken over. */
function runDemo(nodePath: string, out: string): { result: Result; seconds: number } {
	const startedMs = performance.now();
	const env = { ...process.env, XDG_CACHE_HOME: join(out, "cache") };
	const demo = spawnSync(nodePath, ["dist/cli.js", "demo", "--quiet", "--out", join(out, "demo")], { encoding: "utf8", env });
	const seconds = (performance.now() - startedMs) / 1000;
	if (demo.status !== 0) throw new Error(`demo ended with ${demo.status}: ${demo.stderr}`);
	return { result: JSON.parse(readFileSync(join(out, "demo", "result.json"), "utf8")) as Result, seconds };
}

/** What the pairs of a demo say: how they scatter, and how the rule judges equal sides and sides of which one is 10 % slower. */
function judgeDemo(result: Result) {
	const timed = result.workloads.filter(({ latency }) => latency.pairs > 0).map((workload) => ({ workload, pairs: pairsOf(workload) }));
	const equal = timed.filter(({ workload }) => workload.model !== "detector");
	const isFoundSlower = ({ workload, pairs }: (typeof timed)[number]): boolean => {
		const slower = pairs.map(({ base, head }) => ({ base, head: 1.1 * head }));
		const { minimalEffect } = workload.latency;
		return judgePairs(slower, { minimalEffect, looks: [5, 6, 8, 12], share: 0.2 }).verdict === "regressed";
	};
	return {
		pairs: timed.map(({ workload }) => workload.latency.pairs),
		pairSds: timed.map(({ pairs }) => sdOf(pairs)),
		equal: equal.length,
		falseAlarms: equal.filter(({ workload: { verdict } }) => verdict === "regressed" || verdict === "improved").length,
		tenPercentFound: equal.filter(isFoundSlower).length,
	};
}

const demos: (ReturnType<typeof judgeDemo> & { seconds: number; fault: string })[] = [];
try {
	for (const run of runs) {
		const { result, seconds } = runDemo(values.node[run % values.node.length] ?? process.execPath, join(folder, `${run}`));
		const fault = faultOf(result);
		const demo = { ...judgeDemo(result), seconds, fault };
		demos.push(demo);
		const { node } = result.environment;
		const line = JSON.stringify({ run, node, neighbours: neighbours.length, ...demo });
		if (values.json !== undefined) appendFileSync(values.json, `${line}\n`);
		const load = loadavg()[0]?.toFixed(1);
		console.log(`run ${run + 1}: ${fault === "" ? "right" : `WRONG: ${fault}`} · Node ${node} · ${seconds.toFixed(1)} s · load ${load}`);
	}
} finally {
	for (const neighbour of neighbours) neighbour.kill("SIGKILL");
	rmSync(folder, { recursive: true });
}
const right = demos.filter(({ fault }) => fault === "").length;
const sds = demos.flatMap(({ pairSds }) => pairSds);
const total = (key: "equal" | "falseAlarms" | "tenPercentFound") => demos.reduce((sum, demo) => sum + demo[key], 0);
console.log(`${right} of ${runs.length} demos right beside ${neighbours.length} bursty neighbours on ${availableParallelism()} cores`);
console.log(
	`median ${median(demos.map(({ seconds }) => seconds)).toFixed(1)} s a demo · sd of a pair: median ${(100 * median(sds)).toFixed(2)} %, largest ${(100 * Math.max(...sds)).toFixed(2)} %`,
);
console.log(
	`equal sides: ${total("falseAlarms")} of ${total("equal")} called slower or faster; +10 % put on the same pairs: ${total("tenPercentFound")} of ${total("equal")} called slower`,
);
if (right < runs.length) process.exitCode = 1;

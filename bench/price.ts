// What a verdict costs: GPU-seconds with runs of the longest length and of the length that a pilot chooses, on recorded runs of an H200,
// and how often short runs decide rightly; then what a pull request costs that touches none, one and all of 20 models.
// run-windows.py wrote run-windows.json. node bench/price.ts
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chooseRunLength, pilotMs, type RunLength } from "../src/core/compare/sweep.ts";
import { defaultMeasure } from "../src/core/config/config.ts";
import { median } from "../src/core/stats/quantile.ts";
import type { Backend } from "../src/ports/backend.ts";
import { runReplayed } from "./replayed-project.ts";
import { type RecordedRun, realisedRates } from "./run-model.ts";

interface WindowedRun {
	/** Of consecutive 100 ms. */
	windowMedianMs: readonly number[];
	shortP99Ms: number;
}
const recorded = JSON.parse(readFileSync(new URL("run-windows.json", import.meta.url), "utf8")) as Record<
	string,
	readonly WindowedRun[]
>;

const windowMs = 100;
/** trtexec's own start and end around a run, as recorded: 2.3 s of wall time around 0.5 s of warm-up and 1.5 s of measurement. */
const startMs = 350;
const longest: RunLength = { warmUpMs: defaultMeasure.warmUpMs, durationMs: defaultMeasure.durationMs };

/** Iterations that have these medians, for the pilot's rule. */
function iterationsOf({ windowMedianMs }: WindowedRun): Float64Array {
	return Float64Array.from(
		windowMedianMs.flatMap((value) => Array.from({ length: Math.round(windowMs / value) }, () => value)),
	);
}

function cut(runs: readonly WindowedRun[], durationMs: number): RecordedRun[] {
	return runs.map(({ windowMedianMs, shortP99Ms }) => ({
		medianMs: median(windowMedianMs.slice(0, Math.max(1, Math.round(durationMs / windowMs)))),
		p99Ms: shortP99Ms,
	}));
}

function gpuSeconds(pairs: number, { warmUpMs, durationMs }: RunLength, pilots: number): number {
	return (2 * pairs * (startMs + warmUpMs + durationMs) + pilots * (startMs + pilotMs)) / 1000;
}

const row = (...cells: readonly string[]) => console.log(`| ${cells.join(" | ")} |`);
const percent = (share: number) => `${(100 * share).toFixed(2)} %`;
let missed = 0;
const limit = (holds: boolean): string => {
	if (!holds) missed += 1;
	return holds ? "" : " MISSED";
};

const minimalEffect = 0.005;
const replicates = 1000;
console.log(
	`One verdict at a minimal effect of ${100 * minimalEffect} %; limits: A/A false at most 0.5 %, +1 % found in at least 99 %, 20 s\n`,
);
row(
	"recorded engine",
	"runs",
	"chosen length",
	"A/A slower",
	"+1 % found",
	"pairs",
	"GPU-s, pilot",
	"GPU-s, longest runs",
);
row(...Array.from({ length: 8 }, () => "---"));
for (const [index, [name, runs]] of Object.entries(recorded).entries()) {
	const [first, second] = runs;
	if (first === undefined || second === undefined) continue;
	const length = chooseRunLength([first, second].map(iterationsOf), {
		...longest,
		minimalEffect,
		streams: 1,
	});
	const source = cut(runs, length.durationMs);
	const rates = (effect: number) =>
		realisedRates({ runCv: 0, effect, recorded: source }, { minimalEffect, replicates, seed: 31 + index });
	const [same, slower] = [rates(0), rates(0.01)];
	const seconds = gpuSeconds(slower.meanPairs, length, 2);
	row(
		name,
		String(runs.length),
		`${length.warmUpMs} + ${length.durationMs} ms`,
		`${percent(same.slowerJobs)}${limit(same.slowerJobs <= 0.005)}`,
		`${percent(slower.shares.regressed)}${limit(slower.shares.regressed >= 0.99)}`,
		slower.meanPairs.toFixed(1),
		`${seconds.toFixed(1)}${limit(seconds <= 20)}`,
		gpuSeconds(slower.meanPairs, longest, 0).toFixed(1),
	);
}

const models = 20;
/** One process for each, as recorded: a golden case in trtexec, and a profile of the layers. */
const [caseMs, profileMs] = [340, 1000];

/** A backend that adds up what its jobs would keep the GPU busy for. The base's engines come from the cache of their own run. */
function metered(backend: Backend, spent: { ms: number }): Backend {
	const spend = <Kept>(ms: number, kept: Kept): Kept => {
		spent.ms += ms;
		return kept;
	};
	const { profile } = backend;
	return {
		...backend,
		build: async (job) => {
			const record = await backend.build(job);
			return spend(job.arm === "base" ? 0 : record.durationMs, record);
		},
		infer: (job) => spend(job.cases.length * caseMs, backend.infer(job)),
		measure: (job) => spend(startMs + job.warmUpMs + job.durationMs, backend.measure(job)),
		...(profile === undefined ? {} : { profile: (job) => spend(profileMs, profile(job)) }),
	};
}

async function pullRequest(touched: number, measure: string): Promise<{ seconds: number; slower: number }> {
	const folder = mkdtempSync(join(tmpdir(), "trtgate-bench-"));
	const spent = { ms: 0 };
	const nets = Array.from({ length: models }, (_, at) => (at < touched ? "classifier" : "encoder"));
	const result = await runReplayed({
		nets,
		perModel: 1,
		measure,
		folder,
		watch: (backend) => metered(backend, spent),
	});
	rmSync(folder, { recursive: true });
	return {
		seconds: spent.ms / 1000,
		slower: result.workloads.filter(({ verdict }) => verdict === "regressed").length,
	};
}

console.log(
	`\nA pull request to a repository of ${models} models, through the gate on replayed runs; the base's engines are cached\n`,
);
row(
	"models touched",
	"found slower",
	"GPU-s, longest runs, all built and timed",
	"GPU-s now",
	"share of all touched",
);
row("---", "---", "---", "---", "---");
const all = await pullRequest(models, "");
for (const touched of [0, 1, models]) {
	const before = await pullRequest(touched, "unchanged-models: rebuild, warm-up: 2s, duration: 3s");
	const now = touched === models ? all : await pullRequest(touched, "");
	row(
		String(touched),
		`${before.slower}, ${now.slower}${limit(now.slower === touched && before.slower === touched)}`,
		before.seconds.toFixed(0),
		`${now.seconds.toFixed(0)}${limit(now.seconds <= 1 + (1.2 * touched * all.seconds) / models)}`,
		percent(now.seconds / all.seconds),
	);
}
if (missed > 0) process.exitCode = 1;

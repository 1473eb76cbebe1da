// Error rates of the verdict at load on a GPU: one gate records many pairs of processes, which are then judged eight at a time;
// first P99 of base and head in ms, pair by pair, and how far each run is from the simulated queue of its own closed-loop times.
//
//     python bench/load.py --project folder --layers 33 34 --pairs 40      pip install numpy onnx
//     node bench/load-pairs.ts folder [trtexec]
//
// Twice the same number of layers shows the false alarms. Any folder with a project in base/ and in head/ will do.
import { join, resolve } from "node:path";
import type { Arm } from "../generated/result.ts";
import { systemClock } from "../src/adapters/clock.ts";
import { createProcesses } from "../src/adapters/process/processes.ts";
import { silentProgress } from "../src/adapters/terminal/progress.ts";
import { chosenMachine } from "../src/app/choose-backend.ts";
import { gate } from "../src/app/gate.ts";
import { gpuWatch } from "../src/app/gpu.ts";
import { shouldStop } from "../src/core/compare/verdict.ts";
import { defaultMeasure, defaultSettings } from "../src/core/config/config.ts";
import { closedLoopMs, expectedP99Ms, judgePoint, type ServedRun } from "../src/core/load/measured.ts";
import { interpolatedMs, simulateBatcher } from "../src/core/load/queues.ts";
import { quantile } from "../src/core/stats/quantile.ts";
import { uniformSource } from "../src/core/stats/random.ts";
import { formatPercent } from "../src/core/text/units.ts";
import { childEnvironment, readEnvironment } from "../src/host/adapters/github/env.ts";
import type { Backend, MeasureResult } from "../src/ports/backend.ts";

const meanOf = (values: Float64Array) => values.reduce((sum, ms) => sum + ms, 0) / values.length;
const p99Of = (values: Float64Array) => quantile(values.slice().sort(), 0.99);

const looks = [5, 8];
const blockSize = 8;
const options = { minimalEffect: 0.1, looks, share: 1 };

/** By the first arrival, which tells the schedules of pairs apart; a pair that the gate repeats replaces the former. */
type Served = Record<Arm, Map<number, ServedRun>>;

/** trtexec's runs only tell the capacity: each side is timed once. What the worker says is kept. */
function watched(backend: Backend, served: Served): Backend {
	const timed = new Map<string, MeasureResult>();
	return {
		...backend,
		async measure(job) {
			const key = JSON.stringify([job.engine.arm, job.inputs]);
			const result = timed.get(key) ?? (await backend.measure(job));
			timed.set(key, result);
			return result;
		},
		async infer(job) {
			const result = await backend.infer(job);
			const figures =
				result.state === "done"
					? result.cases.map((one) => ("figures" in one ? one.figures : undefined))
					: [];
			const runs = figures.flatMap((one) => (one && "latencyMs" in one ? [one] : []));
			const asked = job.cases.flatMap(({ load }) => load ?? []);
			const timed = asked.flatMap(({ arrivalsMs, maxBatch: batch }, index) => {
				const run = runs[index];
				return run && arrivalsMs.at(-1) === 0 ? [{ batch, ms: closedLoopMs(run, batch) }] : [];
			});
			const [request, load] = [asked.at(-1), runs[asked.length - 1]];
			if (request && load && timed.length < runs.length) {
				const { arm } = job.engine;
				const run = { arm, pair: 0, serviceMs: timed.map(({ ms }) => ms), atRates: [load] };
				const expectedMs = [expectedP99Ms(request, timed)];
				served[arm].set(request.arrivalsMs[0] ?? 0, { ...run, expectedMs });
				const queue = { arrivals: request.arrivalsMs, ...request, serviceMs: interpolatedMs(timed) };
				const simulated = simulateBatcher(queue);
				const [mean, p99] = [meanOf, p99Of].map((figure) => figure(load.latencyMs) / figure(simulated) - 1);
				const times = timed.map(({ ms }) => ms.toFixed(4)).join(" ");
				const apart = `${formatPercent(mean ?? NaN, { sign: true })}, P99 ${formatPercent(p99 ?? NaN, { sign: true })}`;
				console.log(`${served[arm].size} ${arm} ${times} ms; from the simulated queue: mean ${apart}`);
			}
			return result;
		},
	};
}

async function record(cwd: string, trtexec?: string): Promise<Served> {
	const served: Served = { base: new Map(), head: new Map() };
	const environment = readEnvironment(process.env);
	const processes = createProcesses({ env: { ...childEnvironment(), CUDA_DEVICE_ORDER: "PCI_BUS_ID" } });
	const { backend, gpu } = chosenMachine({
		...{
			config: { ...defaultSettings, measure: defaultMeasure, backend: "tensorrt" },
			cwd,
			environment,
			processes,
			trtexec,
		},
		cacheFolder: join(cwd, "cache"),
		workerPath: resolve("worker/tensorrt.py"),
		onnxRuntime: () => {
			throw new Error("There is no TensorRT.");
		},
	});
	try {
		const run = { cwd, environment, progress: silentProgress(), base: "base", head: "head", out: "out" };
		// Only who started the processes knows that they are no stranger's.
		const telemetry = gpuWatch({ gpu, processes, clock: systemClock(), device: undefined });
		const ports = { backend: watched(backend, served), telemetry };
		const { result } = await gate({ ...run, inputs: {}, ports });
		console.log(
			JSON.stringify({ ...result.environment, atLoad: result.measuredLoads, errors: result.errors }),
		);
	} finally {
		await processes.killAll();
	}
	return served;
}

/** As the gate does: looks at five pairs, and at eight where that does not decide. */
function verdictOf(runs: readonly ServedRun[]): string {
	let verdict = "";
	for (const look of looks) {
		const seen = { runs: runs.slice(0, 2 * look), index: 0 };
		const { comparison } = judgePoint({ share: null, ratePerSecond: 0 }, seen, options);
		verdict = comparison.verdict;
		if (shouldStop(comparison)) break;
	}
	return verdict;
}

type Pair = readonly ServedRun[];

function tally(name: string, blocks: readonly (readonly Pair[])[]) {
	const verdicts = blocks.map((block) => verdictOf(block.flat()));
	const names = [...new Set(verdicts)].sort();
	const shares = names.map((one) => {
		const count = verdicts.filter((verdict) => verdict === one).length;
		return `${one} ${count} (${((100 * count) / verdicts.length).toFixed(1)} %)`;
	});
	console.log(`${name}: ${shares.join(", ")}`);
}

/** Without repetition, in any order. */
function randomBlocks(pairs: readonly Pair[], count: number): Pair[][] {
	const uniform = uniformSource(1);
	return Array.from({ length: count }, () => {
		const keyed = pairs.map((pair) => ({ pair, key: uniform() }));
		return keyed
			.sort((left, right) => left.key - right.key)
			.slice(0, blockSize)
			.map(({ pair }) => pair);
	});
}

const served = await record(resolve(process.argv[2] ?? ""), process.argv[3]);
const paired = [...served.base].flatMap(([arrival, base], pair): Pair[] => {
	const head = served.head.get(arrival);
	return head === undefined
		? []
		: [
				[
					{ ...base, pair },
					{ ...head, pair },
				],
			];
});
for (const pair of paired)
	console.log(
		pair
			.flatMap(({ atRates }) => atRates.map(({ latencyMs }) => p99Of(latencyMs)))
			.map((ms) => ms.toFixed(4))
			.join(" "),
	);
const starts = paired.map((_, index) => index).filter((index) => index + blockSize <= paired.length);
const blockAt = (from: number) => paired.slice(from, from + blockSize);
tally("blocks of 8", starts.filter((from) => from % blockSize === 0).map(blockAt));
tally("each 8 in a row", starts.map(blockAt));
tally("any 8", randomBlocks(paired, 1000));

// Error rates of the verdict at load on a GPU: one gate records many pairs of processes, which are then judged eight at a time.
//
//     python bench/load.py --project folder --layers 33 34 --pairs 40      pip install numpy onnx
//     node bench/load-pairs.ts folder [trtexec]
//
// Twice the same number of layers shows the false alarms.
import { join, resolve } from "node:path";
import type { Arm } from "../generated/result.ts";
import { systemClock } from "../src/adapters/clock.ts";
import { createProcesses } from "../src/adapters/process/processes.ts";
import { silentProgress } from "../src/adapters/terminal/progress.ts";
import { chosenMachine } from "../src/app/choose-backend.ts";
import { gate } from "../src/app/gate.ts";
import { gpuWatch } from "../src/app/gpu.ts";
import { shouldStop } from "../src/core/compare/verdict.ts";
import { defaultMeasure, defaultSettings } from "../src/core/config/defaults.ts";
import { closedLoopMs, judgePoint, type LoadRun, type ServedRun } from "../src/core/load/measured.ts";
import { childEnvironment, readEnvironment } from "../src/host/adapters/github/env.ts";
import type { Backend, MeasureResult } from "../src/ports/backend.ts";

const looks = [5, 8];
const blockSize = 8;
const options = { minimalEffect: 0.1, looks, share: 1 };

interface Served {
	arm: Arm;
	serviceMs: number[];
	load: LoadRun;
}

/** trtexec's runs only tell the capacity: each side is timed once. What the worker says is kept. */
function watched(backend: Backend, served: Served[]): Backend {
	const timed = new Map<Arm, MeasureResult>();
	return {
		...backend,
		async measure(job) {
			const result = timed.get(job.engine.arm) ?? (await backend.measure(job));
			timed.set(job.engine.arm, result);
			return result;
		},
		async infer(job) {
			const result = await backend.infer(job);
			const figures =
				result.state === "done"
					? result.cases.map((one) => ("figures" in one ? one.figures : undefined))
					: [];
			const runs = figures.flatMap((one) => (one && "latencyMs" in one ? [one] : []));
			const [closed, load] = runs;
			if (closed && load) {
				const serviceMs = closedLoopMs(closed, 1);
				served.push({ arm: job.engine.arm, serviceMs: [serviceMs], load });
				process.stderr.write(`${served.length} ${job.engine.arm} ${serviceMs.toFixed(4)} ms\n`);
			}
			return result;
		},
	};
}

async function record(cwd: string, trtexec?: string): Promise<Served[]> {
	const served: Served[] = [];
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
function verdictOf(runs: readonly { run: ServedRun; load: LoadRun }[]): string {
	let verdict = "";
	for (const look of looks) {
		const { comparison } = judgePoint({ share: null, ratePerSecond: 0 }, runs.slice(0, 2 * look), options);
		verdict = comparison.verdict;
		if (shouldStop(comparison)) break;
	}
	return verdict;
}

function count(runs: readonly { run: ServedRun; load: LoadRun }[], step: number): string {
	const verdicts: string[] = [];
	for (let from = 0; from + blockSize <= runs.length / 2; from += step)
		verdicts.push(verdictOf(runs.slice(2 * from, 2 * (from + blockSize))));
	const names = [...new Set(verdicts)].sort();
	return names.map((name) => `${name} ${verdicts.filter((one) => one === name).length}`).join(", ");
}

const served = await record(resolve(process.argv[2] ?? ""), process.argv[3]);
const runs = (["base", "head"] as const).map((arm) => served.filter((one) => one.arm === arm));
const paired = Array.from({ length: Math.min(...runs.map(({ length }) => length)) }, (_, pair) =>
	runs.map((own) => {
		const { arm, serviceMs, load } = own[pair]!;
		return { run: { arm, pair, serviceMs, atRates: [load] }, load };
	}),
).flat();
console.log(
	`${paired.length / 2} pairs; blocks of ${blockSize}: ${count(paired, blockSize)}; each window of ${blockSize}: ${count(paired, 1)}`,
);

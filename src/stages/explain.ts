// Looks into the engines after they were timed: layers and their times of each, kernels of those that became slower.
import type { Config } from "../core/config/config.ts";
import { folderName } from "../core/config/identity.ts";
import type { Result, WorkloadResult } from "../core/schema/result.ts";
import type { Backend, BuiltEngine, Interrupt, Progress } from "../ports.ts";
import type { TimedWorkload } from "./measure.ts";

export interface ExplainInput {
	workloads: readonly TimedWorkload[];
	rows: readonly Pick<WorkloadResult, "id" | "verdict">[];
	nsys: Config["profile"]["nsys"];
	outFolder: string;
	timeoutMs: number;
}

/** What one look left behind, and what it could not see. */
export interface Explained {
	/** Paths relative to the output folder. */
	files: Result["files"];
	note?: string;
}

interface ExplainPorts {
	backend: Backend;
	progress: Progress;
	interrupt: Interrupt;
}

export async function* explain(input: ExplainInput, ports: ExplainPorts): AsyncGenerator<Explained> {
	const looks = [...layerLooks(input), ...kernelLooks(input)];
	ports.progress.stage("explain", looks.length);
	for (const look of looks) {
		if (ports.interrupt.reason() !== null) return;
		ports.progress.item(look.label);
		yield await look.look(ports.backend);
	}
	ports.progress.done(`${looks.length} profiles`);
}

interface Look {
	label: string;
	look(backend: Backend): Promise<Explained>;
}

/** One workload of each engine: the one that regressed, else its first. */
function* layerLooks(input: ExplainInput): Generator<Look> {
	const regressed = regressedOf(input);
	for (const engineId of new Set(input.workloads.map(({ workload }) => workload.engineId))) {
		const own = input.workloads.filter(({ workload }) => workload.engineId === engineId);
		const timed = own.find((candidate) => regressed.has(candidate)) ?? own[0];
		if (timed === undefined) continue;
		for (const engine of enginesOf(timed)) {
			yield { label: `layers of ${engineId} (${engine.arm})`, look: (backend) => lookAtLayers(engine, timed, { input, backend }) };
		}
	}
}

function* kernelLooks(input: ExplainInput): Generator<Look> {
	if (input.nsys === "never") return;
	const chosen = input.nsys === "always" ? new Set(input.workloads) : regressedOf(input);
	for (const timed of chosen) {
		for (const engine of enginesOf(timed)) {
			yield {
				label: `kernels of ${timed.workload.id} (${engine.arm})`,
				look: (backend) => lookAtKernels(engine, timed, { input, backend }),
			};
		}
	}
}

function regressedOf({ workloads, rows }: ExplainInput): Set<TimedWorkload> {
	const ids = new Set(rows.filter(({ verdict }) => verdict === "regressed").map(({ id }) => id));
	return new Set(workloads.filter(({ workload }) => ids.has(workload.id)));
}

function enginesOf({ base, head }: TimedWorkload): BuiltEngine[] {
	return base === undefined || base.record.engineSha256 === head.record.engineSha256 ? [head] : [base, head];
}

interface Place {
	input: ExplainInput;
	backend: Backend;
}

async function lookAtLayers(engine: BuiltEngine, timed: TimedWorkload, { input, backend }: Place): Promise<Explained> {
	const name = `${folderName(timed.workload.engineId)}-${engine.arm}`;
	const [layers, profile] = [`layers/${name}.layers.json`, `layers/${name}.profile.json`];
	const result = await backend.profile?.({
		engine,
		inputs: timed.inputs,
		seed: 1,
		timeoutMs: input.timeoutMs,
		profilePath: `${input.outFolder}/${profile}`,
		layersPath: `${input.outFolder}/${layers}`,
		logPath: `${input.outFolder}/logs/layers-${name}.log`,
	});
	const whose = `${timed.workload.engineId} (${engine.arm})`;
	if (result?.state === "failed") {
		return { files: [], note: `The layers of ${whose} could not be timed: ${result.failure.message}` };
	}
	if (result?.state !== "done") return { files: [] };
	return {
		files: [
			{ path: layers, what: `layers of ${whose}` },
			{ path: profile, what: `time of each layer of ${whose}` },
		],
	};
}

async function lookAtKernels(engine: BuiltEngine, timed: TimedWorkload, { input, backend }: Place): Promise<Explained> {
	const result = await backend.trace?.({
		engine,
		inputs: timed.inputs,
		streams: timed.workload.config.streams,
		seed: 1,
		timeoutMs: input.timeoutMs,
		folder: `${input.outFolder}/nsys`,
		name: `${folderName(timed.workload.id)}-${engine.arm}`,
	});
	if (result?.state !== "ran") return { files: [] };
	const whose = `${timed.workload.id} (${engine.arm})`;
	const files = result.files.map((path) => ({ path: path.slice(input.outFolder.length + 1), what: `${kindOf(path)} of ${whose}` }));
	return { files, ...(result.sentence === undefined ? {} : { note: result.sentence }) };
}

function kindOf(path: string): string {
	if (path.endsWith(".csv")) return "kernels by time";
	return path.endsWith(".log") ? "log of the Nsight Systems profile" : "Nsight Systems profile";
}

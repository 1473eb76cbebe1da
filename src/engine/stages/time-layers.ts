// Times layers, repeatedly if that explains a change.
import type { Arm, Result, WorkloadResult } from "../../../generated/result.ts";
import type { Config } from "../../core/config/config.ts";
import { folderName } from "../../core/config/values.ts";
import type { Backend, BuiltEngine } from "../../ports/backend.ts";
import type { Ports } from "../../ports/ports.ts";
import { samenessOf } from "../../stages/build.ts";
import type { TimedWorkload } from "../../stages/workloads.ts";
import { diffEngines } from "../core/diff.ts";
import type { ProfiledArm } from "../core/explain/layers.ts";
import { machineCauses } from "../core/explain/machine.ts";
import type { EngineLayers, LayerProfile } from "../core/layer.ts";
import { engineModel } from "../core/model.ts";

export interface ExplainInput {
	workloads: readonly TimedWorkload[];
	rows: readonly (Pick<WorkloadResult, "id" | "verdict" | "runs"> &
		Partial<Pick<WorkloadResult, "latency" | "gpu" | "fresh" | "work">>)[];
	gpu?: string;
	memoryBytes?: number;
	cudaGraph?: boolean;
	profile: Config["profile"];
	outFolder: string;
	timeoutMs: number;
}

export interface Explained {
	files: Result["files"];
	note?: string;
	seen?: ProfiledArm;
}

export type ExplainPorts = Pick<Ports, "progress" | "interrupt"> & {
	backend: Pick<Backend, "profile" | "trace">;
};

export interface LayerTiming {
	timed: TimedWorkload;
	engines: readonly BuiltEngine[];
	row: ExplainInput["rows"][number] | undefined;
}

interface Profiled {
	info: EngineLayers | null;
	times: LayerProfile[];
}

const budgetMs = 10_000;
const mostProfiles = 5;

/** Alternates the order of the sides, so that drift affects both equally. */
export async function* timeLayers(
	timing: LayerTiming,
	input: ExplainInput,
	ports: ExplainPorts,
): AsyncGenerator<Explained> {
	const seen = new Map<Arm, Profiled>();
	let repeats = 1;
	for (let repeat = 1; repeat <= repeats; repeat += 1) {
		for (const engine of repeat % 2 === 1 ? timing.engines : timing.engines.toReversed()) {
			if (ports.interrupt.reason() !== null) return;
			ports.progress.detail(`${engine.arm}, profile ${repeat}`);
			yield* profileOnce({ engine, repeat, seen, timed: timing.timed }, input, ports);
		}
		if (repeat === 1) repeats = repeatsOf(timing, seen);
	}
	const { base, head } = { base: modelOf("base", timing, seen), head: modelOf("head", timing, seen) };
	if (base === null || head === null) return;
	const unit = timing.row?.work === undefined ? undefined : "M instructions";
	const explanation = diffEngines(
		{ base, head },
		{ gpu: input.gpu ?? null, enginesMs: enginesMs(timing), unit, ...samenessOf(timing.engines) },
	);
	const machine = machineOf(timing, input);
	yield {
		files: [],
		seen: {
			id: timing.timed.workload.id,
			arm: "head",
			explanation: { ...explanation, machine },
		},
	};
}

function machineOf({ row }: LayerTiming, { memoryBytes, cudaGraph = false }: ExplainInput) {
	const machine = machineCauses({ runs: [], ...row, cudaGraph, memoryBytes });
	return machine.length === 0 ? undefined : machine;
}

function repeatsOf({ row, engines }: LayerTiming, seen: ReadonlyMap<Arm, Profiled>) {
	const isOpen = row !== undefined && ["regressed", "inconclusive"].includes(row.verdict);
	if (!isOpen || row.work !== undefined || engines.length < 2 || seen.size < 2) return 1;
	const onceMs = [...seen.values()].reduce((sum, { times: [first] }) => sum + profileMs(first), 0);
	return Math.max(1, Math.min(mostProfiles, Math.floor(budgetMs / Math.max(1, onceMs))));
}

const warmUpMs = 200;

function profileMs(profile: LayerProfile | undefined) {
	const { iterations, layers } = profile ?? { iterations: 0, layers: [] };
	return warmUpMs + iterations * layers.reduce((sum, { averageMs }) => sum + averageMs, 0);
}

function enginesMs({ row }: LayerTiming) {
	const { base, head } = row?.work ?? row?.latency ?? {};
	const scale = row?.work === undefined ? 1 : 1e-6;
	return base === undefined || head === undefined ? null : { base: base * scale, head: head * scale };
}

function modelOf(arm: Arm, { engines }: LayerTiming, seen: ReadonlyMap<Arm, Profiled>) {
	const [profiled, engine] = [seen.get(arm), engines.find((one) => one.arm === arm)];
	return profiled === undefined || engine === undefined
		? null
		: engineModel({ info: profiled.info, profiles: profiled.times, graph: engine.model.onnx.graph });
}

async function* profileOnce(
	{
		engine,
		repeat,
		seen,
		timed,
	}: { engine: BuiltEngine; repeat: number; seen: Map<Arm, Profiled>; timed: TimedWorkload },
	input: ExplainInput,
	ports: ExplainPorts,
) {
	const { id } = timed.workload;
	const { arm } = engine;
	const name = `${folderName(id)}-${arm}`;
	const layers = `layers/${name}.layers.json`;
	const profile = `layers/${name}.profile${repeat === 1 ? "" : `-${repeat}`}.json`;
	const result = await ports.backend.profile?.({
		engine,
		inputs: timed.inputs,
		seed: 1,
		timeoutMs: input.timeoutMs,
		profilePath: `${input.outFolder}/${profile}`,
		layersPath: `${input.outFolder}/${layers}`,
		nodesPath: `${input.outFolder}/layers/${name}.onnx`,
		logPath: `${input.outFolder}/logs/layers-${name}.log`,
	});
	const whose = `${id} (${arm})`;
	const isCounted = result?.state === "done" && result.layers?.unit !== undefined;
	if (result?.state === "failed")
		yield { files: [], note: `The layers of ${whose} could not be timed: ${result.failure.message}` };
	if (result?.state !== "done") return;
	const known = seen.get(arm);
	if (result.times !== undefined) {
		seen.set(arm, {
			info: known?.info ?? result.info ?? null,
			times: [...(known?.times ?? []), result.times],
		});
	}
	yield {
		files: [
			...(repeat > 1 || isCounted ? [] : [{ path: layers, what: `layers of ${whose}` }]),
			{
				path: profile,
				what: `${isCounted ? "instructions" : "time"} of each layer of ${whose}${repeat === 1 ? "" : `, again (${repeat})`}`,
			},
		],
		note:
			result.sentence === undefined ? undefined : `The layers of ${whose} are not shown: ${result.sentence}`,
		...(result.layers === null || repeat > 1 ? {} : { seen: { id, arm, layers: result.layers } }),
	};
}

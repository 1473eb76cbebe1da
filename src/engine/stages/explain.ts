// Profiles engines after they are timed (layers, kernels of slower workloads), and states the coverage of their precision.
import type { PrecisionCoverage, VerdictKind, WorkloadKernels } from "../../../generated/result.ts";
import { folderName } from "../../core/config/values.ts";
import { costsOf, sizesOf } from "../../core/onnx/cost/cost.ts";
import { counted } from "../../core/text/labels.ts";
import type { Backend, BuiltEngine, TraceJob } from "../../ports/backend.ts";
import type { TimedWorkload, WorkloadShapes } from "../../stages/workloads.ts";
import { type NodeTypes, nodeTypes, precisionCoverage } from "../core/coverage.ts";
import { kernelOfInterest } from "../core/explain/layers.ts";
import { engineModel } from "../core/model.ts";
import { type Explained, type ExplainInput, type ExplainPorts, timeLayers } from "./time-layers.ts";

export async function* explain(input: ExplainInput, ports: ExplainPorts): AsyncGenerator<Explained> {
	const { rows, skipped } = chooseRows(input);
	const chosen = { ...input, rows, workloads: input.workloads.filter((timed) => wasTimed(timed, input)) };
	const [timings, profiles] = [[...layerTimings(chosen)], [...kernelProfiles(chosen)]];
	ports.progress.stage("explain", timings.length + profiles.length);
	if (skipped > 0) {
		const note = `The layers of ${skipped} more workloads that changed or are undecided were not timed; at most ${maxChanged} are.`;
		yield { files: [], note };
	}
	for (const timing of timings) {
		ports.progress.item(`layers of ${timing.timed.workload.id}`);
		yield* timeLayers(timing, chosen, ports);
	}
	for (const profile of profiles) {
		if (ports.interrupt.reason() !== null) return;
		const what = profile.tool === "nsys" ? "kernels" : "slowest kernel";
		ports.progress.item(`${what} of ${profile.timed.workload.id} (${profile.engine.arm})`);
		yield await profileKernels(profile, chosen, ports);
	}
	ports.progress.done(counted(timings.length + profiles.length, "profile"));
}

function wasTimed({ workload }: TimedWorkload, { rows }: ExplainInput) {
	const row = rows.find(({ id }) => id === workload.id);
	// A count takes two more processes, so only changes are counted.
	return row?.work === undefined
		? row?.runs.length !== 0
		: row.verdict === "regressed" || row.verdict === "improved";
}

/** Each takes two processes and some hundred kilobytes of the result. */
const maxChanged = 16;

const explainedVerdicts: readonly VerdictKind[] = ["regressed", "improved", "inconclusive", "not-comparable"];

/** Regressions come first, then workloads that stand out in the history. */
function chooseRows({ rows }: ExplainInput) {
	const changed = explainedVerdicts.flatMap((verdict) => rows.filter((row) => row.verdict === verdict));
	const candidates = [...new Set([...changed, ...rows.filter(({ fresh }) => fresh !== undefined)])];
	return { rows: candidates.slice(0, maxChanged), skipped: Math.max(0, candidates.length - maxChanged) };
}

function* layerTimings(input: ExplainInput) {
	for (const engineId of new Set(input.workloads.map(({ workload }) => workload.engineId))) {
		const own = input.workloads.filter(({ workload }) => workload.engineId === engineId);
		const some = own.filter(({ workload }) => input.rows.some(({ id }) => id === workload.id));
		for (const timed of some.length > 0 ? some : own.slice(0, 1)) {
			const row = input.rows.find(({ id }) => id === timed.workload.id);
			yield { timed, engines: enginesOf(timed), row };
		}
	}
}

function* kernelProfiles(input: ExplainInput) {
	for (const timed of input.workloads) {
		if (input.rows.find(({ id }) => id === timed.workload.id)?.work !== undefined) continue;
		const found: WorkloadKernels = { base: null, head: null };
		for (const tool of ["nsys", "ncu"] as const) {
			if (!isEnabled(tool, timed, input)) continue;
			for (const engine of enginesOf(timed)) yield { tool, engine, timed, found };
		}
	}
}

function isEnabled(tool: TraceJob["tool"], { workload }: TimedWorkload, { profile, rows }: ExplainInput) {
	const isSlower = rows.some(({ id, verdict }) => id === workload.id && verdict === "regressed");
	return profile[tool] === "always" || (profile[tool] === "on-regression" && isSlower);
}

function enginesOf({ base, head }: TimedWorkload) {
	return base === undefined || base.record.engineSha256 === head.record.engineSha256 ? [head] : [base, head];
}

interface KernelProfile {
	tool: TraceJob["tool"];
	engine: BuiltEngine;
	timed: TimedWorkload;
	found: WorkloadKernels;
}

async function profileKernels(
	{ tool, engine, timed, found }: KernelProfile,
	input: ExplainInput,
	{ backend }: ExplainPorts,
) {
	const { id, config } = timed.workload;
	const { arm } = engine;
	const kernel = tool === "ncu" ? kernelOfInterest(found) : undefined;
	const result = await backend.trace?.({
		tool,
		kernel,
		engine,
		inputs: timed.inputs,
		streams: config.streams,
		seed: 1,
		timeoutMs: input.timeoutMs,
		folder: `${input.outFolder}/${tool}`,
		name: `${folderName(id)}-${arm}`,
	});
	if (result?.state !== "ran") return { files: [] };
	const files = result.files.map((path) => ({
		path: path.slice(input.outFolder.length + 1),
		what: `${kindOf(path)} of ${id} (${arm})`,
	}));
	const { kernels, sentence } = result;
	if (kernels !== undefined) found[arm] = kernels;
	return { files, note: sentence, seen: kernels && { id, arm, kernels } };
}

function kindOf(path: string) {
	if (path.endsWith(".csv")) return "kernels by time";
	const profile = /\.ncu(-rep|\.log)$/.test(path) ? "Nsight Compute profile" : "Nsight Systems profile";
	return path.endsWith(".log") ? `log of the ${profile}` : profile;
}

interface Known {
	shaped: WorkloadShapes | undefined;
	before: NodeTypes | undefined;
}

/** @returns null if the build listed no layers; its coverage is null if the precision has none. */
export async function coverageOf(
	engine: BuiltEngine,
	{ shaped, before }: Known,
	{ layersOf }: Backend,
): Promise<{ coverage: PrecisionCoverage | null; types: NodeTypes } | null> {
	const { model, spec, arm, record } = engine;
	const info = (await layersOf?.(engine)) ?? null;
	if (info === null) return null;
	const differs = arm === "base" ? shaped?.baseDiffers : shaped?.headDiffers;
	const sizes = shaped === undefined || differs !== undefined ? { shapes: {} } : sizesOf(shaped.inputs);
	const facts = {
		engine: engineModel({ info, profiles: [], graph: model.onnx.graph }),
		precision: spec.engine.precision,
		costs: costsOf(model.onnx)(sizes),
		warnings: record.warnings,
		isCalibrated: spec.engine.tensorrt.calibration !== undefined,
		before,
	};
	return { coverage: precisionCoverage(facts), types: nodeTypes(facts) };
}

// Runs and reloads engines for long, to see whether their memory grows.
import type { ErrorRecord, GrowthPhase, MemoryGrowthResult, PhaseName } from "../../generated/result.ts";
import { growsAlike, growthText, judgeGrowth } from "../core/compare/growth.ts";
import { folderName } from "../core/config/identity.ts";
import { recordFault } from "../core/errors.ts";
import { resolveShapes } from "../core/onnx/input-shapes/search.ts";
import { counted } from "../core/text/labels.ts";
import { timedInputsOf } from "../core/timed-inputs.ts";
import { sizesAt } from "../golden/core/probes/subject.ts";
import { tensorBytes } from "../golden/core/tensor/tensor.ts";
import type { BuiltEngine, SoakRequest, TimedInput, WorkerFigures } from "../ports/backend.ts";
import type { ToolFailure } from "../ports/world.ts";
import { type ObservePorts, tensorsOf } from "./start-up.ts";

interface SoakInput {
	engines: readonly BuiltEngine[];
	outFolder: string;
	timeoutMs: number;
}

export interface GrowthFound {
	memoryGrowths?: readonly MemoryGrowthResult[];
	errors?: readonly ErrorRecord[];
	notes?: readonly string[];
}

/** Of the head; the base only where the head grows. */
export async function* soakEngines(input: SoakInput, ports: ObservePorts): AsyncGenerator<GrowthFound> {
	const heads = input.engines.filter(({ arm, record }) => arm === "head" && record.sharedWithBase !== true);
	ports.progress.stage("memory-growth", heads.length);
	for (const head of heads) {
		if (ports.interrupt.reason() !== null) return;
		ports.progress.item(head.spec.id);
		const { model, engine, id } = head.spec;
		const subject = { model: model.name, engine: engine.name };
		const limit = engine.gates.memoryGrowth;
		const own = await soak(head, limit, { input, ports });
		if ("reason" in own) {
			yield { notes: [`Memory growth was not measured: ${own.reason}.`] };
			return;
		}
		if ("failure" in own) {
			const error = recordFault(own.failure, subject);
			const unknown = { ...subject, state: "unknown", message: error.message, phases: [] } as const;
			yield { memoryGrowths: [unknown], errors: [error] };
			continue;
		}
		const message = growthText(own.phases, limit);
		const grows = own.phases.some(({ figures }) => figures.some((figure) => figure.grows));
		const base = input.engines.find(({ arm, spec }) => arm === "base" && spec.id === id);
		const other = grows && base ? await soak(base, limit, { input, ports }) : null;
		const isKnown = other !== null && "phases" in other && growsAlike(other.phases, own.phases);
		const state = own.phases.length === 0 ? "unknown" : !grows ? "steady" : isKnown ? "known" : "grows";
		yield { memoryGrowths: [{ ...subject, state, message, ...own }] };
	}
	ports.progress.done(counted(heads.length, "engine"));
}

type Soaked = { phases: GrowthPhase[] } | { reason: string } | { failure: ToolFailure };

const budgetMs = 60_000;
const timeouts = 10;
const steady = { steps: 4096, samples: 120 };
/** A reload takes as long as hundreds of runs. */
const reloads = { steps: 48, samples: 24 };

async function soak(
	engine: BuiltEngine,
	limit: number,
	{ input, ports }: { input: SoakInput; ports: ObservePorts },
): Promise<Soaked> {
	const { timeoutMs, outFolder } = input;
	const shapes = casesOf(engine);
	const names: PhaseName[] = [
		"same-shape",
		...(shapes.length > 1 ? (["shape-changes"] as const) : []),
		"reloads",
	];
	const budget = Math.min(budgetMs, Math.floor(timeoutMs / timeouts));
	const soaks = names.map((phase): SoakRequest => {
		return { phase, ...(phase === "reloads" ? reloads : steady), budgetMs: budget };
	});
	const asked = soaks.map((request) => ({ id: request.phase, inputs: {}, soak: request }));
	const result = (await ports.backend.observe?.({
		engine,
		mode: "soak",
		cases: [...shapes, ...asked],
		timeoutMs,
		logPath: `${outFolder}/logs/memory-growth-${folderName(engine.spec.id)}-${engine.arm}.log`,
	})) ?? { state: "absent", reason: "only TensorRT is observed" };
	if (result.state === "absent") return result;
	if (result.state === "failed") return result;
	return { phases: result.figures.flatMap((figures, at) => phaseOf(names[at], figures, limit) ?? []) };
}

function phaseOf(phase: PhaseName | undefined, figures: WorkerFigures, limit: number): GrowthPhase | null {
	if (phase === undefined || figures.kind !== "soak") return null;
	const { steps, warmUp, shapes, samples } = figures;
	const judged = judgeGrowth(samples, { steps, limit });
	return judged && { phase, steps: steps * samples.length, warmUp, shapes, ...judged };
}

const maxCaseBytes = 64 * 2 ** 20;

/** At the ends and the optimum of the first profile; sizes with more than 64 MiB of inputs are left out. */
function casesOf({ spec, model }: BuiltEngine) {
	const { inputs } = spec.model;
	const inputsAt = timedInputsOf(model.onnx, inputs);
	const [profile = {}] = spec.engine.profiles;
	const sized = (["opt", "min", "max"] as const).map((point): TimedInput[] => {
		const dims = { ...spec.engine.workloads[0]?.dims, ...Object.fromEntries(sizesAt(profile, point)) };
		return inputsAt(resolveShapes(model.onnx, { dims, inputs }));
	});
	const all = new Map(sized.map((tensors) => [JSON.stringify(tensors.map(({ shape }) => shape)), tensors]));
	const bytes = (tensors: readonly TimedInput[]): number =>
		tensors.reduce((sum, tensor) => sum + tensorBytes(tensor), 0);
	const fitting = [...all].filter(([, tensors]) => bytes(tensors) <= maxCaseBytes);
	return fitting.map(([id, tensors]) => ({ id, inputs: tensorsOf(tensors) }));
}

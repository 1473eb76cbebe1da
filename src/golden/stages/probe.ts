// Probes the head's engines without a reference, and the base's if the head's are inconsistent.
import type { ErrorRecord, ProbeName, ProbeResult } from "../../../generated/result.ts";
import { folderName } from "../../core/config/values.ts";
import { ConfigError, recordFault } from "../../core/errors.ts";
import { probesEnabled } from "../../core/plan/plan.ts";
import { counted } from "../../core/text/labels.ts";
import type { Backend, BuiltEngine, InferResult } from "../../ports/backend.ts";
import type { Ports } from "../../ports/ports.ts";
import type { JudgedProbe } from "../core/probes/judge.ts";
import { judgeProbes, settleProbes } from "../core/probes/judge.ts";
import { type ProbePlan, planProbes } from "../core/probes/plan.ts";
import { probeSubject } from "../core/probes/subject.ts";
import { firstStep } from "../core/sequence/sequence.ts";
import type { Tensors } from "../core/tensor/tensor.ts";
import { type GoldenSet, readTensors } from "./load-goldens.ts";

interface ProbeInput {
	engines: readonly BuiltEngine[];
	goldens: ReadonlyMap<string, GoldenSet>;
	outFolder: string;
	threads: number;
	timeoutMs: number;
	isScheduled: boolean;
	isTensorRt: boolean;
}

export type Probed =
	| { state: "judged"; results: readonly ProbeResult[] }
	| { state: "failed"; error: ErrorRecord };

type ProbePorts = Pick<Ports, "files" | "tensors" | "progress"> & { backend: Pick<Backend, "infer"> };

export async function* probe(input: ProbeInput, ports: ProbePorts): AsyncGenerator<Probed> {
	const heads = input.engines.filter(({ arm, spec, record }) => {
		const isNew = record.sharedWithBase !== true || record.fromCache !== true;
		return arm === "head" && probesEnabled(spec.model.probes, { ...input, isNew });
	});
	if (heads.length === 0) return;
	ports.progress.stage("probe", heads.length);
	let differing = 0;
	for (const head of heads) {
		ports.progress.item(head.spec.id);
		const probed = await probeEngine(head, input, ports);
		if (probed.state === "judged")
			differing += probed.results.filter(({ state }) => state === "differs").length;
		yield probed;
	}
	ports.progress.done(
		differing === 0
			? "all engines are consistent"
			: `${counted(differing, "probe")} ${differing === 1 ? "differs" : "differ"}`,
	);
}

async function probeEngine(head: BuiltEngine, input: ProbeInput, ports: ProbePorts): Promise<Probed> {
	const { model, engine, id } = head.spec;
	const engineRef = { model: model.name, engine: engine.name };
	const donors = await donorsOf(input.goldens.get(id), ports);
	const plan = planProbes(probeSubject(head.model.onnx, head.spec, input.isTensorRt), {
		only: model.probes.only,
		donors,
		precision: head.spec.engine.precision,
	});
	const own = await runProbes(head, plan, { input, ports });
	if (own.state === "failed")
		return { state: "failed", error: recordFault(own.failure, { ...engineRef, arm: "head" }) };
	let known: Map<ProbeName, JudgedProbe> | null = null;
	if (own.judged.some(({ state }) => state === "differs")) {
		const base = input.engines.find((other) => other.arm === "base" && other.spec.id === id);
		const isShared = head.record.sharedWithBase === true;
		// If the base fails, the head's result is used alone.
		const other = isShared ? own : base && (await runProbes(base, plan, { input, ports }));
		if (other?.state === "done") known = new Map(other.judged.map((judged) => [judged.probe, judged]));
	}
	return { state: "judged", results: settleProbes(own.judged, known, engineRef) };
}

const maxDonors = 16;

async function donorsOf(set: GoldenSet | undefined, ports: ProbePorts) {
	const donors: Tensors[] = [];
	if (set === undefined) return donors;
	try {
		const { cases, sequence } = set.manifest;
		for (const { inputs } of cases.slice(0, maxDonors)) {
			const stored = await readTensors(inputs, set.folder, ports);
			donors.push(sequence === undefined ? stored : firstStep(sequence, stored));
		}
	} catch (error) {
		// The verdict on the golden reports faults of reading.
		if (!(error instanceof ConfigError)) throw error;
	}
	return donors;
}

async function runProbes(
	engine: BuiltEngine,
	plan: ProbePlan,
	{ input, ports }: { input: ProbeInput; ports: ProbePorts },
): Promise<{ state: "done"; judged: JudgedProbe[] } | Extract<InferResult, { state: "failed" }>> {
	const { precision, gates } = engine.spec.engine;
	const rule = { precision, cap: gates.relativeL2[precision] };
	if (plan.cases.length === 0) return { state: "done", judged: judgeProbes(plan, new Map(), rule) };
	const name = `probe-${folderName(engine.spec.id)}-${engine.arm}`;
	const total = plan.cases.length;
	const result = await ports.backend.infer({
		engine,
		cases: plan.cases.map(({ batch: _, ...one }) => ({ ...one, id: `probe ${one.id}` })),
		scratchFolder: `${input.outFolder}/scratch/${name}`,
		logPath: `${input.outFolder}/logs/${name}.log`,
		threads: input.threads,
		timeoutMs: input.timeoutMs,
		onCase: (done) => ports.progress.detail(`probe ${done} of ${total} (${engine.arm})`),
	});
	if (result.state === "failed") return result;
	const answers = new Map(result.cases.map((answer, at) => [plan.cases[at]?.id ?? "", answer]));
	return { state: "done", judged: judgeProbes(plan, answers, rule, result.isSeparate) };
}

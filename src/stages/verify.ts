// Sends the golden cases through the engines and judges what comes out.
import { folderName } from "../core/config/identity.ts";
import { recordFault } from "../core/error-record.ts";
import { judgeCase, judgeUnanswered } from "../core/golden/judge.ts";
import type { Tensor } from "../core/golden/tensor.ts";
import type { ErrorRecord, GoldenVerdict } from "../core/schema/result.ts";
import type { Backend, BuiltEngine, InferCase, InferResult } from "../ports/backend.ts";
import type { Files, Progress, TensorReader } from "../ports/world.ts";
import { type GoldenSet, readTensors } from "./load-goldens.ts";

export interface VerifyInput {
	engines: readonly BuiltEngine[];
	goldens: ReadonlyMap<string, GoldenSet>;
	/** Of each model's own ONNX file in the head, by model: the goldens of its variants speak of it too. */
	modelSha256: ReadonlyMap<string, string>;
	outFolder: string;
	threads: number;
	timeoutMs: number;
}

export type Verified = { state: "judged"; verdict: GoldenVerdict } | { state: "failed"; error: ErrorRecord };

interface VerifyPorts {
	backend: Backend;
	files: Files;
	tensors: TensorReader;
	progress: Progress;
}

/** The head's outputs are judged; the base's run first, so that each error can be told beside the base's own. */
export async function* verify(input: VerifyInput, ports: VerifyPorts): AsyncGenerator<Verified> {
	const heads = input.engines.filter((engine) => engine.arm === "head" && input.goldens.has(engine.spec.id));
	ports.progress.stage("verify", heads.length);
	let mismatches = 0;
	for (const head of heads) {
		ports.progress.item(head.spec.id);
		for (const verified of await verifyEngine(head, input, ports)) {
			if (verified.state === "failed" || verified.verdict.state !== "match") mismatches += 1;
			yield verified;
		}
	}
	ports.progress.done(mismatches === 0 ? "all golden cases match" : `${mismatches} golden cases do not match`);
}

async function verifyEngine(head: BuiltEngine, input: VerifyInput, ports: VerifyPorts): Promise<Verified[]> {
	const set = input.goldens.get(head.spec.id);
	if (set === undefined) return [];
	const base = input.engines.find((engine) => engine.arm === "base" && engine.spec.id === head.spec.id);
	const cases: InferCase[] = [];
	for (const golden of set.manifest.cases) cases.push({ id: golden.id, inputs: await readTensors(golden.inputs, set.folder, ports) });
	const infer = (engine: BuiltEngine): Promise<InferResult> =>
		ports.backend.infer({
			engine,
			cases,
			scratchFolder: `${input.outFolder}/scratch/${folderName(engine.spec.id)}-${engine.arm}`,
			logPath: `${input.outFolder}/logs/verify-${folderName(engine.spec.id)}-${engine.arm}.log`,
			threads: input.threads,
			timeoutMs: input.timeoutMs,
			onCase: (done) => ports.progress.detail(`case ${done} of ${cases.length} (${engine.arm})`),
		});
	const baseOutputs = base ? outputsOf(await infer(base)) : new Map<string, Outputs>();
	const result = await infer(head);
	if (result.state === "failed") {
		const place = { model: head.spec.model.name, engine: head.spec.engine.name, arm: head.arm };
		return [{ state: "failed", error: recordFault(result.failure, place) }];
	}
	const modelSha256 = input.modelSha256.get(head.spec.model.name) ?? head.model.sha256;
	return judgeAll(head, set, { result, baseOutputs, modelSha256, ports });
}

type Outputs = Readonly<Record<string, Tensor>>;

/** What a base could not answer is simply not there to compare with. */
function outputsOf(result: InferResult): Map<string, Outputs> {
	const cases = result.state === "done" ? result.cases : [];
	return new Map(cases.flatMap((inferred) => (inferred.state === "done" ? [[inferred.id, inferred.outputs] as const] : [])));
}

interface Judging {
	result: Extract<InferResult, { state: "done" }>;
	baseOutputs: ReadonlyMap<string, Outputs>;
	modelSha256: string;
	ports: VerifyPorts;
}

async function judgeAll(head: BuiltEngine, set: GoldenSet, judging: Judging): Promise<Verified[]> {
	const verdicts: Verified[] = [];
	for (const golden of set.manifest.cases) {
		const inferred = judging.result.cases.find((answer) => answer.id === golden.id);
		const place = {
			manifest: set.manifest,
			caseId: golden.id,
			model: head.spec.model.name,
			engine: head.spec.engine.name,
			precision: head.spec.engine.precision,
			modelSha256: judging.modelSha256,
			relativeL2: head.spec.engine.gates.relativeL2,
		};
		if (inferred?.state !== "done") {
			verdicts.push({ state: "judged", verdict: judgeUnanswered(place, inferred?.message ?? "the engine gave no answer to this case") });
			continue;
		}
		const base = judging.baseOutputs.get(golden.id);
		const expected = await readTensors(golden.outputs, set.folder, judging.ports);
		verdicts.push({ state: "judged", verdict: judgeCase({ ...place, expected, got: inferred.outputs, ...(base ? { base } : {}) }) });
	}
	return verdicts;
}

// Runs the golden cases through the engines, and judges the outputs.
import type { GoldenCase } from "../../../generated/golden.ts";
import type { ErrorRecord, GoldenVerdict } from "../../../generated/result.ts";
import type { CommandConfig } from "../../core/config/config.ts";
import { folderName } from "../../core/config/values.ts";
import { ConfigError, recordFault } from "../../core/errors.ts";
import type { EngineSpec } from "../../core/plan/plan.ts";
import { counted } from "../../core/text/labels.ts";
import { formatCount } from "../../core/text/units.ts";
import type { BuiltEngine, InferCase, InferResult, InferredCase } from "../../ports/backend.ts";
import type { Ports } from "../../ports/ports.ts";
import type { CustomCommands } from "../../ports/world.ts";
import { type BatchLimits, cutBatches, defaultBatchLimits } from "../core/compare/checks.ts";
import { judgeCase, judgeUnanswered } from "../core/compare/judge.ts";
import { attachErrorMaps } from "../core/error-map/attach-error-maps.ts";
import type { ComposedBatch } from "../core/timed/compose.ts";
import { type SetWatch, watchSet } from "../core/whole-set/judge-set.ts";
import { type GoldenSet, isNewCase, judgeUnusable, readTensors } from "./load-goldens.ts";
import { runComparatorCommands } from "./run-comparator-commands.ts";
import { asCase, composedOf, describeComposed, type ReadCase } from "./timed-sizes.ts";

export interface VerifyInput {
	engines: readonly BuiltEngine[];
	goldens: ReadonlyMap<string, GoldenSet>;
	unusable?: readonly { spec: EngineSpec; fault: ConfigError }[];
	/** Hash of each model's own file in the head, which the goldens of its variants name too. */
	modelSha256: ReadonlyMap<string, string>;
	outFolder: string;
	threads: number;
	timeoutMs: number;
	batch?: BatchLimits;
	commands?: { known: readonly CommandConfig[]; cwd: string };
}

export type Verified =
	/** `lacksBase`: a base gave no answer to compare the head's error with. */
	{ state: "judged"; verdict: GoldenVerdict; lacksBase?: boolean } | { state: "failed"; error: ErrorRecord };

type VerifyPorts = Pick<Ports, "backend" | "files" | "tensors" | "progress" | "custom">;

const maxMaps = { all: 50, engine: 16 } as const;

/** The base runs first, so that each error can be shown next to the base's. */
export async function* verify(input: VerifyInput, ports: VerifyPorts): AsyncGenerator<Verified> {
	for (const { spec, fault } of input.unusable ?? [])
		yield { state: "judged", verdict: judgeUnusable(spec, fault) };
	const verifications = input.engines.flatMap((head) => verificationsOf(head, input, ports));
	const batches = verifications.reduce((sum, one) => sum + one.batches.length + one.composed.length, 0);
	ports.progress.stage("verify", batches);
	let mismatches = 0;
	let hasJudged = false;
	let maps: number = maxMaps.all;
	for (const verification of verifications) {
		const most = Math.min(maps, maxMaps.engine);
		verification.mapsLeft = most;
		for await (const verified of verifyReadable(verification)) {
			hasJudged = true;
			if (verified.state === "failed" || verified.verdict.state !== "match") mismatches += 1;
			yield verified;
		}
		maps -= most - verification.mapsLeft;
	}
	// Not "all": verdicts of earlier runs are not among these.
	const [one, many] = ["golden case does not match", "golden cases do not match"];
	const found = mismatches === 0 ? "golden cases match" : counted(mismatches, one, many);
	ports.progress.done(hasJudged ? found : "no golden cases to run");
}

interface EngineVerification {
	head: BuiltEngine;
	base: BuiltEngine | undefined;
	hasBase: boolean;
	set: GoldenSet;
	batches: readonly (readonly GoldenCase[])[];
	composed: readonly ComposedBatch[];
	read: ReadCase;
	input: VerifyInput;
	ports: VerifyPorts;
	mapsLeft: number;
	whole: SetWatch | null;
}

function verificationsOf(head: BuiltEngine, input: VerifyInput, ports: VerifyPorts) {
	const set = input.goldens.get(head.spec.id);
	if (head.arm !== "head" || set === undefined) return [];
	const base = input.engines.find((engine) => engine.arm === "base" && engine.spec.id === head.spec.id);
	const batches = [...cutBatches(set.manifest.cases, input.batch ?? defaultBatchLimits)];
	const isNewSet = set.manifest.cases.some((golden) => isNewCase(golden, { set, head, base }));
	const whole = watchSet({ ...setRefOf({ head, base, set, input }), isNewSet });
	const composed = composedOf(head, set);
	const read: ReadCase = (golden, side) => readTensors(golden[side], set.folder, ports);
	const hasBase = base !== undefined;
	return [{ head, base, hasBase, set, batches, composed, read, input, ports, mapsLeft: 0, whole }];
}

const goldenFaults: ReadonlySet<string> = new Set([
	"golden-missing",
	"tensor-invalid",
	"path-outside-workspace",
	"path-unreadable",
]);

async function* verifyReadable(verification: EngineVerification): AsyncGenerator<Verified> {
	try {
		yield* verifyEngine(verification);
	} catch (error) {
		if (!(error instanceof ConfigError) || !goldenFaults.has(error.code)) throw error;
		yield { state: "judged", verdict: judgeUnusable(verification.head.spec, error) };
	}
}

async function* verifyEngine(verification: EngineVerification): AsyncGenerator<Verified> {
	let done = 0;
	for (const [index, cases] of verification.batches.entries()) {
		// The batch's tensors are freed when the call returns.
		const isRunning = yield* verifyBatch({ cases, index, done }, verification);
		// An engine that fails midway gets no verdict on the whole set.
		if (!isRunning) return;
		done += cases.length;
	}
	const whole = verification.whole?.verdict() ?? null;
	if (whole !== null) yield { state: "judged", verdict: whole };
	for (const [index, composed] of verification.composed.entries()) {
		const batch = { cases: [composed.golden], index: verification.batches.length + index, done: 0 };
		for await (const verified of verifyBatch(batch, { ...verification, ...asCase(composed, verification) }))
			yield* verified.state === "failed" ? [verified] : describeComposed(verified);
	}
}

type Batch = { cases: readonly GoldenCase[] } & Record<"index" | "done", number>;

async function* verifyBatch(
	batch: Batch,
	verification: EngineVerification,
): AsyncGenerator<Verified, boolean> {
	const { head, ports } = verification;
	ports.progress.item(labelOf(batch, verification));
	const answers = await inferArms(batch, verification);
	if (answers.state === "failed") {
		const ref = { model: head.spec.model.name, engine: head.spec.engine.name, arm: head.arm };
		yield { state: "failed", error: recordFault(answers.failure, ref) };
		return false;
	}
	for (const golden of batch.cases) {
		const lacksBase = verification.hasBase && answers.base.get(golden.id)?.state !== "done";
		yield { state: "judged", verdict: await judgeOne(golden, answers, verification), lacksBase };
		answers.head.delete(golden.id);
		answers.base.delete(golden.id);
	}
	return true;
}

function labelOf({ cases, done }: Batch, { head, batches, set }: EngineVerification) {
	const [from, to, total] = [done + 1, done + cases.length, set.manifest.cases.length].map(formatCount);
	return batches.length === 1 ? head.spec.id : `${head.spec.id} · cases ${from} to ${to} of ${total}`;
}

interface Answers {
	state: "done";
	head: Map<string, InferredCase>;
	base: Map<string, InferredCase>;
}

async function inferArms(
	batch: Batch,
	verification: EngineVerification,
): Promise<Answers | Extract<InferResult, { state: "failed" }>> {
	const cases: InferCase[] = [];
	for (const golden of batch.cases)
		cases.push({ id: golden.id, inputs: await verification.read(golden, "inputs") });
	const isShared = verification.head.record.sharedWithBase === true;
	const own =
		verification.base === undefined || isShared
			? null
			: await inferBatch(verification.base, cases, { batch, verification });
	// A base that failed once is not run again for every batch.
	if (own?.state === "failed") verification.base = undefined;
	const head = await inferBatch(verification.head, cases, { batch, verification });
	if (head.state === "failed") return head;
	return { state: "done", head: byId(head), base: byId(isShared ? head : own) };
}

function inferBatch(
	engine: BuiltEngine,
	cases: readonly InferCase[],
	{ batch, verification }: { batch: Batch; verification: EngineVerification },
) {
	const { input, ports, set } = verification;
	const { outFolder, threads, timeoutMs } = input;
	const { sequence } = set.manifest;
	const total = formatCount(set.manifest.cases.length);
	const name = `${folderName(engine.spec.id)}-${engine.arm}`;
	return ports.backend.infer({
		engine: { ...engine, model: { ...engine.model, sequence } },
		cases,
		scratchFolder: `${outFolder}/scratch/${name}`,
		logPath: `${outFolder}/logs/verify-${name}${batch.index === 0 ? "" : `-${batch.index + 1}`}.log`,
		threads,
		timeoutMs,
		onCase: (done) =>
			ports.progress.detail(`case ${formatCount(batch.done + done)} of ${total} (${engine.arm})`),
	});
}

function byId(result: InferResult | null) {
	return new Map(result?.state === "done" ? result.cases.map((inferred) => [inferred.id, inferred]) : []);
}

const noCommands: CustomCommands = {
	run: async () => ({ state: "failed", message: "no command can be run here" }),
};

function commandsOf({ input, ports, head }: EngineVerification) {
	const { outFolder, commands = { known: [], cwd: outFolder } } = input;
	const scratchFolder = `${outFolder}/scratch/${folderName(head.spec.id)}-custom`;
	return { ...commands, scratchFolder, port: ports.custom ?? noCommands };
}

function setRefOf({ head, base, set, input }: Pick<EngineVerification, "head" | "base" | "set" | "input">) {
	const { model, engine } = head.spec;
	const { precision, gates } = engine;
	const ofBase = base?.spec.engine.precision;
	return {
		manifest: set.manifest,
		model: model.name,
		engine: engine.name,
		precision,
		basePrecision: ofBase === precision ? undefined : ofBase,
		modelSha256: input.modelSha256.get(model.name) ?? head.model.sha256,
		relativeL2: gates.relativeL2,
		errorGrowth: gates.errorGrowth,
	};
}

async function judgeOne(golden: GoldenCase, answers: Answers, verification: EngineVerification) {
	const expected = await verification.read(golden, "outputs");
	const ref = { ...setRefOf(verification), caseId: golden.id, golden };
	const got = answers.head.get(golden.id);
	if (got?.state !== "done") {
		verification.whole?.see(golden, null);
		return judgeUnanswered(ref, got?.message ?? "the engine returned nothing for this case");
	}
	const base = answers.base.get(golden.id);
	const sides = {
		...ref,
		isNewCase: isNewCase(golden, verification),
		expected,
		got: got.outputs,
		base: base?.state === "done" ? base.outputs : undefined,
	};
	const judged = { ...sides, answers: await runComparatorCommands(sides, commandsOf(verification)) };
	verification.whole?.see(golden, judged);
	const { verdict, drawn } = attachErrorMaps(judgeCase(judged), judged, verification.mapsLeft);
	verification.mapsLeft -= drawn;
	return verdict;
}

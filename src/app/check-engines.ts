// What the engines of a run compute: against goldens, against ONNX Runtime, and against themselves.
import { calibrationDue } from "../core/golden/calibrate/apply.ts";
import { listNames } from "../core/text/labels.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { bisect } from "../stages/bisect.ts";
import { keepVerdicts, recallVerdicts, type TakenOver } from "../stages/kept-verdicts.ts";
import type { PreparedModel } from "../stages/prepared.ts";
import { probe } from "../stages/probe.ts";
import { type Verified, verify } from "../stages/verify.ts";
import { type RunContext, stopIfInterrupted, unchangedMode } from "./run-context.ts";

export async function verifyEngines(
	engines: readonly BuiltEngine[],
	{ input, facts, prepared, ports }: RunContext,
): Promise<void> {
	const { threads, timeoutMs } = input.config.measure;
	const unusable = engines.flatMap(({ spec, arm }) => {
		const fault = arm === "head" ? prepared.goldenFaults.get(spec.id) : undefined;
		return fault === undefined ? [] : [{ spec, fault }];
	});
	const verifying = {
		unusable,
		...{ engines, threads, timeoutMs, goldens: prepared.goldens, outFolder: input.outFolder },
		modelSha256: hashesOfModels(prepared.models),
		commands: {
			known: input.config.commands ?? [],
			cwd: input.arms.find(({ arm }) => arm === "head")?.path ?? "",
		},
	};
	const { keptVerdicts: kept } = ports;
	const conditions = { version: input.version, backend: facts.backend, environment: facts.environment };
	const takenOver =
		kept === undefined || unchangedMode(input) !== "skip"
			? []
			: await recallVerdicts(verifying, conditions, kept);
	facts.golden.push(...takenOver.flatMap(({ verdicts }) => verdicts));
	if (takenOver.length > 0) facts.notes.push(takenOverNote(takenOver));
	const left = engines.filter(({ spec }) => !takenOver.some(({ engineId }) => engineId === spec.id));
	const found: Verified[] = [];
	for await (const verified of verify({ ...verifying, engines: left }, ports)) {
		found.push(verified);
		if (verified.state === "judged") facts.golden.push(verified.verdict);
		else facts.errors.push(verified.error);
		stopIfInterrupted(ports);
	}
	facts.notes.push(...calibrationDue(facts.golden, prepared.goldens, facts.backend));
	if (kept !== undefined)
		await keepVerdicts(verifying, found, { facts: conditions, kept, at: ports.clock.timestamp() });
}

function takenOverNote(takenOver: readonly TakenOver[]): string {
	const names = listNames(takenOver.map(({ engineId, at }) => `${engineId} (${at.slice(0, 10)})`));
	return `Golden verdicts reused from earlier runs with the same engine, golden, limits, machine and versions: ${names}. To verify them again, use run --fresh; in a workflow, cache: false.`;
}

/** Hashes of the head's models themselves, not of their variants; a model of which only variants are built has none. */
function hashesOfModels(models: readonly PreparedModel[]): Map<string, string> {
	const own = models.filter(
		(model) =>
			model.arm === "head" && model.state === "ready" && model.spec.engine.onnx === model.spec.model.onnx,
	);
	return new Map(
		own.flatMap((model) =>
			model.state === "ready" ? [[model.spec.model.name, model.model.sha256] as const] : [],
		),
	);
}

export async function bisectGoldens(
	engines: readonly BuiltEngine[],
	{ input, facts, prepared, ports }: RunContext,
): Promise<void> {
	const { bisect: when, budgetMs } = input.config.explain;
	const { reference } = ports;
	if (reference === undefined || !(when === "on" || (when === "nightly" && input.isScheduled === true)))
		return;
	const { threads, timeoutMs, buildTimeoutMs } = input.config.measure;
	const searching = {
		engines,
		goldens: prepared.goldens,
		verdicts: facts.golden,
		outFolder: input.outFolder,
	};
	for await (const found of bisect(
		{ ...searching, threads, timeoutMs, buildTimeoutMs, budgetMs },
		{ ...ports, reference },
	)) {
		facts.bisections.push(found);
	}
}

export async function probeEngines(
	engines: readonly BuiltEngine[],
	{ input, facts, prepared, ports }: RunContext,
): Promise<void> {
	const { threads, timeoutMs } = input.config.measure;
	const { outFolder, isScheduled = false } = input;
	for await (const probed of probe(
		{ engines, goldens: prepared.goldens, outFolder, threads, timeoutMs, isScheduled },
		ports,
	)) {
		if (probed.state === "judged") facts.probes.push(...probed.results);
		else facts.errors.push(probed.error);
		stopIfInterrupted(ports);
	}
}

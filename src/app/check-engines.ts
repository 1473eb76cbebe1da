// Checks what engines compute: against goldens, ONNX Runtime and themselves.
import { listNames } from "../core/text/labels.ts";
import { bisect } from "../golden/stages/bisect.ts";
import { keepVerdicts, recallVerdicts } from "../golden/stages/kept-verdicts.ts";
import { probe } from "../golden/stages/probe.ts";
import { type Verified, verify } from "../golden/stages/verify.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { type Found, type RunContext, stopIfInterrupted, unchangedMode } from "./run-context.ts";

export async function* verifyEngines(
	engines: readonly BuiltEngine[],
	{ input, seen, prepared, ports }: RunContext,
): AsyncGenerator<Found> {
	const { threads, timeoutMs } = input.config.measure;
	const verifying = {
		unusable: engines.flatMap(({ spec, arm }) => {
			const fault = arm === "head" ? prepared.goldenFaults.get(spec.id) : undefined;
			return fault === undefined ? [] : [{ spec, fault }];
		}),
		engines,
		threads,
		timeoutMs,
		goldens: prepared.goldens,
		outFolder: input.outFolder,
		// Models that are only built as variants have none.
		modelSha256: new Map(
			prepared.models.flatMap((one) =>
				one.arm === "head" && one.state === "ready" && one.spec.engine.onnx === one.spec.model.onnx
					? [[one.spec.model.name, one.model.sha256] as const]
					: [],
			),
		),
		commands: {
			known: input.config.commands ?? [],
			cwd: input.arms.find(({ arm }) => arm === "head")?.path ?? "",
		},
	};
	const { keptVerdicts: kept } = ports;
	const { backend, environment } = seen();
	const conditions = { version: input.version, backend, environment };
	const takenOver =
		kept === undefined || unchangedMode(input) !== "skip"
			? []
			: await recallVerdicts(verifying, conditions, kept);
	if (takenOver.length > 0) {
		const names = listNames(takenOver.map(({ engineId, at }) => `${engineId} (${at.slice(0, 10)})`));
		yield {
			golden: takenOver.flatMap(({ verdicts }) => verdicts),
			notes: [
				`Golden verdicts reused from earlier runs with the same engine, golden, limits, machine and versions: ${names}. To verify them again, use run --fresh; in a workflow, cache: false.`,
			],
		};
	}
	const left = engines.filter(({ spec }) => !takenOver.some(({ engineId }) => engineId === spec.id));
	const found: Verified[] = [];
	for await (const verified of verify({ ...verifying, engines: left }, ports)) {
		found.push(verified);
		yield verified.state === "judged" ? { golden: [verified.verdict] } : { errors: [verified.error] };
		stopIfInterrupted(ports);
	}
	if (kept !== undefined)
		await keepVerdicts(verifying, found, { facts: conditions, kept, at: ports.clock.timestamp() });
}

export async function* bisectGoldens(
	engines: readonly BuiltEngine[],
	{ input, seen, prepared, ports }: RunContext,
): AsyncGenerator<Found> {
	const { bisect: when, budgetMs } = input.config.explain;
	const { reference } = ports;
	if (reference === undefined || !(when === "on" || (when === "nightly" && input.isScheduled === true)))
		return;
	const { threads, timeoutMs, buildTimeoutMs } = input.config.measure;
	const { outFolder } = input;
	const limits = { threads, timeoutMs, buildTimeoutMs, budgetMs, outFolder };
	const searching = { ...limits, engines, goldens: prepared.goldens, verdicts: seen().golden };
	for await (const found of bisect(searching, { ...ports, reference })) yield { bisections: [found] };
}

export async function* probeEngines(
	engines: readonly BuiltEngine[],
	{ input, prepared, ports }: RunContext,
): AsyncGenerator<Found> {
	const { threads, timeoutMs } = input.config.measure;
	const { outFolder, isScheduled = false } = input;
	const probing = { engines, goldens: prepared.goldens, outFolder, threads, timeoutMs, isScheduled };
	for await (const probed of probe(probing, ports)) {
		yield probed.state === "judged" ? { probes: probed.results } : { errors: [probed.error] };
		stopIfInterrupted(ports);
	}
}

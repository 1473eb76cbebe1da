// The time left of a run, in its progress; and what its steps took, kept for the estimates of later runs.
import { dirname } from "node:path";
import { buildWorkOf } from "../core/plan/build-time.ts";
import { type Known, modelKey, stepKey } from "../core/plan/estimate.ts";
import type { Took } from "../core/plan/expected.ts";
import { createForecast, type Forecast } from "../core/plan/forecast.ts";
import { estimateSteps } from "../core/plan/make-plan.ts";
import { engineSpecs, type Plan } from "../core/plan/plan.ts";
import type { Ports } from "../ports/ports.ts";
import type { Clock, Progress } from "../ports/world.ts";
import { isUnchanged } from "../stages/build.ts";
import { type GateInput, type Prepared, type RunContext, unchangedMode } from "./run-context.ts";

/** The plan with what its steps took in earlier runs of this project on this machine. */
export async function learnedPlan({ plan, models }: Prepared, input: GateInput, ports: Ports): Promise<Plan> {
	const times = (await ports.keptTimes?.recall(await timesKey(input, ports))) ?? {};
	const ready = models.filter((model) => model.state === "ready");
	const engines = engineSpecs(input.config).map(({ id }) => {
		const [base, head] = (["base", "head"] as const).map((arm) => ready.find((model) => model.arm === arm && model.spec.id === id));
		const isShared = base !== undefined && head !== undefined && unchangedMode(input) !== "rebuild" && isUnchanged(base, head);
		const sha256 = { ...(base && { base: base.model.sha256 }), ...(head && { head: head.model.sha256 }) };
		const work = { ...(base && { base: buildWorkOf(base.model.onnx) }), ...(head && { head: buildWorkOf(head.model.onnx) }) };
		return [id, { isShared, sha256, work, sharesTimings: base !== undefined && input.config.base === undefined }] as const;
	});
	const known: Known = { times, engines: new Map(engines) };
	const { kind: backend } = await ports.backend.facts();
	return { ...plan, ...estimateSteps(plan.steps, { config: input.config, arms: plan.arms, backend, known }) };
}

/** A project is known by the folder in which its output lies; runs of other shapes than the config's are kept apart. */
async function timesKey({ outFolder, config }: GateInput, { backend }: Ports): Promise<string> {
	const pinned = config.models.flatMap(({ inputs }) =>
		Object.entries(inputs).flatMap(([name, input]) => (input.pinned ? [[name, input.pinned]] : [])),
	);
	return JSON.stringify([dirname(outFolder), await backend.facts(), await backend.fingerprint(), ...pinned]);
}

/** The same ports; what their progress reports shows how much time is left. */
export function withTimeLeft(
	ports: Ports,
	plan: Plan,
	{ facts, input }: Pick<RunContext, "facts" | "input">,
): { ports: Ports; forecast: Forecast } {
	const forecast = createForecast(plan, facts.backend.kind, input.isSoakDue === true ? input.config.measure.soakMs : 0);
	return { ports: { ...ports, progress: followedProgress(ports.progress, forecast, ports.clock) }, forecast };
}

function followedProgress(shown: Progress, forecast: Forecast, clock: Clock): Progress {
	shown.expect?.(() => forecast.left(clock.now()));
	return {
		stage(name, items) {
			forecast.stage(name, items, clock.now());
			shown.stage(name, items);
		},
		item(label) {
			forecast.item(label, clock.now());
			shown.item(label);
		},
		detail(text, share, part) {
			if (share !== undefined) forecast.share({ share, part }, clock.now());
			shown.detail(text);
		},
		done(summary) {
			forecast.done(clock.now());
			shown.done(summary);
		},
	};
}

/** What the engine cache needs for an engine that it has. */
const recallMs = 1500;

export async function keepTimes(run: RunContext, forecast: Forecast): Promise<void> {
	const times = Object.fromEntries(forecast.took().flatMap((took) => timesOf(took, run)));
	await run.ports.keptTimes?.keep(await timesKey(run.input, run.ports), times);
}

function timesOf(took: Took, run: RunContext): [string, number][] {
	const { kind, engineId, workloadId, ms } = took;
	if (kind === "verify" || kind === "probe") return [[stepKey(kind, engineId), ms]];
	if (kind === "build") return buildTimes(took, run);
	const row = run.facts.rows.find(({ id }) => id === workloadId);
	const pairs = row?.work?.base === undefined ? new Set(row?.runs.map(({ pair }) => pair)).size : 1;
	return kind === "measure" && workloadId !== undefined && pairs > 0 ? [[stepKey(kind, workloadId), ms / pairs]] : [];
}

function buildTimes({ engineId, arm, ms }: Took, { input, facts, prepared }: RunContext): [string, number][] {
	const build = facts.builds.find((record) => `${record.model}/${record.engine}` === engineId && record.arm === arm);
	const model = prepared.models.find((one) => one.arm === arm && one.spec.id === engineId);
	if (build?.state !== "built" || model?.state !== "ready" || build.sharedWithBase === true) return [];
	const isKept = facts.backend.kind === "tensorrt" && input.config.cache.engines;
	const ofBytes: [string, number] = [modelKey(engineId, model.model.sha256), isKept ? Math.min(ms, recallMs) : ms];
	return build.fromCache === true ? [ofBytes] : [ofBytes, [stepKey("build", engineId), ms]];
}

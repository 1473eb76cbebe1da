// What the steps of a run take: kept for later runs, which show the time left where it is known of every remaining step.
import { dirname } from "node:path";
import { type Known, stepKey } from "../core/plan/estimate.ts";
import { estimateSteps } from "../core/plan/make-plan.ts";
import { engineSpecs, type Plan } from "../core/plan/plan.ts";
import type { Ports } from "../ports/ports.ts";
import type { Clock, Progress } from "../ports/world.ts";
import { isUnchanged } from "../stages/build.ts";
import { type GateInput, type Prepared, unchangedMode } from "./run-context.ts";

/** The plan with what its steps took in earlier runs of this project on this machine. */
export async function recallTimes(
	{ plan, models }: Pick<Prepared, "plan" | "models">,
	input: GateInput,
	ports: Ports,
): Promise<{ plan: Plan; known: Known }> {
	const times = (await ports.keptTimes?.recall(await timesKey(input, ports))) ?? {};
	const ready = models.filter((model) => model.state === "ready");
	const unchanged = engineSpecs(input.config).filter(({ id }) => {
		const [base, head] = (["base", "head"] as const).map((arm) =>
			ready.find((model) => model.arm === arm && model.spec.id === id),
		);
		return (
			base !== undefined &&
			head !== undefined &&
			unchangedMode(input) !== "rebuild" &&
			isUnchanged(base, head)
		);
	});
	const known: Known = { times, unchanged: new Set(unchanged.map(({ id }) => id)) };
	const { kind: backend } = await ports.backend.facts();
	return {
		plan: {
			...plan,
			...estimateSteps(plan.steps, { config: input.config, arms: plan.arms, backend, known }),
		},
		known,
	};
}

/** A project is known by the folder in which its output lies; runs of other shapes than the config's are kept apart. */
async function timesKey({ outFolder, config }: GateInput, { backend }: Ports): Promise<string> {
	const pinned = config.models.flatMap(({ inputs }) =>
		Object.entries(inputs).flatMap(([name, input]) => (input.pinned ? [[name, input.pinned]] : [])),
	);
	return JSON.stringify([dirname(outFolder), await backend.facts(), await backend.fingerprint(), ...pinned]);
}

export async function keepTimes(
	took: Readonly<Record<string, number>>,
	input: GateInput,
	ports: Ports,
): Promise<void> {
	await ports.keptTimes?.keep(await timesKey(input, ports), took);
}

/** The steps of the plan, and the stages after it, with what each is known to take. */
export function knownSteps(
	{ plan, known }: { plan: Plan; known: Known },
	later: readonly string[],
): KnownSteps {
	// Both sides are verified at once.
	const steps = plan.steps.filter(
		(step) =>
			!["prepare", "preflight"].includes(step.kind) && !(step.kind === "verify" && step.arm === "base"),
	);
	const ofPlan = steps.map((step) => [stepKey(step), step.isKnown ? step.estimateMs : null] as const);
	return [...ofPlan, ...later.map((stage) => [stage, known.times[stage] ?? null] as const)];
}

type KnownSteps = readonly (readonly [key: string, ms: number | null])[];

/** Shows the time left beside what is reported, and notes what each step takes. */
export function followSteps(
	steps: KnownSteps,
	shown: Progress,
	clock: Clock,
): { progress: Progress; took: Record<string, number> } {
	const took: Record<string, number> = {};
	let [stage, at, startedMs] = ["", -1, Number.NaN];
	const close = (): void => {
		const [key, knownMs] = steps[at] ?? ["", null];
		// A step that takes no time is one that this change spares.
		if (!Number.isNaN(startedMs) && knownMs !== 0) took[key] = (took[key] ?? 0) + clock.now() - startedMs;
		startedMs = Number.NaN;
	};
	const isOf = (text: string, key: string): boolean => text === key || text.startsWith(`${key} `);
	shown.expect?.(() => {
		const left = steps.slice(Math.max(0, Number.isNaN(startedMs) ? at + 1 : at)).map(([, ms]) => ms);
		const overMs = Number.isNaN(startedMs) ? 0 : Math.min(clock.now() - startedMs, left[0] ?? 0);
		return left.includes(null) ? null : left.reduce((sum: number, ms) => sum + (ms ?? 0), 0) - overMs;
	});
	return {
		took,
		progress: {
			...shown,
			stage(name, items) {
				close();
				stage = name;
				const first = steps.findIndex(([key]) => isOf(key, name));
				if (first > at) at = first - 1;
				shown.stage(name, items);
			},
			item(label, leftMs) {
				close();
				const text = `${stage} ${label}`;
				const exact = steps.findIndex(([key]) => key === text);
				const found = exact < 0 ? steps.findIndex(([key]) => isOf(text, key)) : exact;
				if (found >= 0) [at, startedMs] = [found, clock.now()];
				shown.item(label, leftMs);
			},
			done(summary) {
				close();
				at = Math.max(
					at,
					steps.findLastIndex(([key]) => isOf(key, stage)),
				);
				shown.done(summary);
			},
		},
	};
}

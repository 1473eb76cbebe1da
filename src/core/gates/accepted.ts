// Changes for the worse that are accepted once, for exactly one engine.

import type { BuildRecord, GateResult, WorkloadResult } from "../../../generated/result.ts";
import type { AcceptedChange, Config } from "../config/config.ts";
import { placeOf } from "../config/source.ts";
import { formatPercent } from "../text/units.ts";

export interface AcceptFacts {
	config: Pick<Config, "accept" | "sources">;
	builds: readonly BuildRecord[];
	rows: readonly WorkloadResult[];
	known: ReadonlySet<string>;
}

export function applyAccepted(gates: readonly GateResult[], facts: AcceptFacts): GateResult[] {
	const entries = facts.config.accept ?? [];
	if (entries.length === 0) return [...gates];
	const stale = entries.flatMap((entry) => staleness(entry, facts));
	const current = entries.filter((entry) => staleness(entry, facts).length === 0);
	return [...gates.map((gate) => acceptOne(gate, current, facts)), ...stale];
}

/** A stale entry must go, so that it cannot serve another change. */
function staleness(entry: AcceptedChange, { config, builds, known }: AcceptFacts): GateResult[] {
	const { engine, recipe, pointer } = entry;
	const recipeOf = (arm: string) =>
		builds.find((build) => build.arm === arm && `${build.model}/${build.engine}` === engine)?.recipeHash;
	const head = recipeOf("head");
	const why = !known.has(engine)
		? "no such engine exists"
		: recipeOf("base") === recipe
			? "the base already has this engine"
			: head !== undefined && head !== recipe
				? `it is for the engine ${recipe}, and this one is ${head}`
				: null;
	if (why === null) return [];
	// Names may contain slashes, so only a build tells the model's name from the engine's.
	const build = builds.find(({ arm, ...of }) => arm === "head" && `${of.model}/${of.engine}` === engine);
	const slash = engine.indexOf("/");
	return [
		{
			gate: "accept",
			model: build?.model ?? engine.slice(0, slash),
			engine: build?.engine ?? engine.slice(slash + 1),
			status: "fail",
			message: `The accepted ${entry.figure} is stale: ${why}. Remove the entry; \`trtgate accept RESULT --prune\` does it.`,
			...placeOf(config, pointer),
		},
	];
}

function acceptOne(gate: GateResult, entries: readonly AcceptedChange[], facts: AcceptFacts): GateResult {
	const id = `${gate.model}/${gate.engine}`;
	const entry = entries.find(({ engine, figure }) => engine === id && figure === gate.gate);
	if (entry === undefined || gate.status !== "fail") return gate;
	const change = changeOf(gate, facts);
	const most = formatPercent(entry.atMost, { sign: true });
	if (change === null || !(change <= entry.atMost))
		return { ...gate, message: `${gate.message} At most ${most} was accepted.` };
	const who = entry.by === undefined ? "" : ` by ${entry.by}`;
	const accepted = `Accepted once, up to ${most}${who}: ${entry.reason}`;
	return { ...gate, status: "warn", message: `${gate.message} ${accepted}`, accepted };
}

export function changeOf(
	{ gate, model, engine, workload }: GateResult,
	{ builds, rows }: Pick<AcceptFacts, "builds" | "rows">,
): number | null {
	if (gate === "engine-size" || gate === "build-time") {
		const figureOf = (arm: string): number => {
			const build = builds.find((one) => one.arm === arm && one.model === model && one.engine === engine);
			return (gate === "engine-size" ? build?.engineBytes : build?.durationMs) ?? Number.NaN;
		};
		const ratio = figureOf("head") / figureOf("base");
		return Number.isFinite(ratio) ? ratio - 1 : null;
	}
	if (gate !== "latency" && gate !== "work" && gate !== "p99" && gate !== "memory") return null;
	const row = rows.find((one) => one.model === model && one.engine === engine && one.workload === workload);
	return row?.[gate]?.estimate ?? null;
}

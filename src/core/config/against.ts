// Siblings: engines of one model of which one names the other under `against`, and has to be faster.

import { formatName, suggest } from "../found.ts";
import { groupBy } from "../group.ts";
import { listNames } from "../text/labels.ts";
import type { EngineConfig, ModelConfig, WorkloadConfig } from "./config.ts";
import type { Resolution } from "./source.ts";

/** Equal for workloads of the same sizes, streams and pace, whatever they are called. */
export function loadOf({
	dims,
	streams,
	everyMs,
	sweep,
}: Pick<WorkloadConfig, "dims" | "streams" | "everyMs" | "sweep">): string {
	return JSON.stringify([streams, Object.entries(dims).sort(), sweep?.dim, sweep?.from, everyMs]);
}

export function* checkAgainst(engines: readonly EngineConfig[]): Resolution<void> {
	for (const { name, against, pointer, workloads } of engines) {
		if (against === undefined) continue;
		// Sweeps are not timed against a sibling.
		const loads = new Set(workloads.filter(({ sweep }) => sweep === undefined).map(loadOf));
		const sibling = engines.find((other) => other.name === against);
		const others = engines.flatMap((other) => (other.name === name ? [] : [other.name]));
		const fault =
			sibling === undefined
				? {
						says: "which is no engine of this model",
						...suggest(against, others, `Name the engine that this one has to beat: ${listNames(others)}.`),
					}
				: chainOf(name, engines).includes(name)
					? { says: "which leads back to this engine", fix: "Remove `against` from one of the engines." }
					: sibling.workloads.some((workload) => loads.has(loadOf(workload)))
						? null
						: {
								says: "with which it has no workload of the same sizes and streams",
								fix: "Give both engines such a workload. A sweep is none.",
							};
		if (fault === null) continue;
		yield {
			...fault,
			pointer: `${pointer}/against`,
			says: `is ${formatName(against)}, ${fault.says}`,
			expected: "another engine of this model, timed at the same sizes",
		};
	}
}

function chainOf(name: string, engines: readonly EngineConfig[]) {
	const chain: string[] = [];
	for (let at: string | undefined = name; at !== undefined && chain.length < engines.length; ) {
		const last: string = at;
		at = engines.find((engine) => engine.name === last)?.against;
		if (at !== undefined) chain.push(at);
	}
	return chain;
}

export function families(engines: readonly EngineConfig[]): EngineConfig[][] {
	return [...groupBy(engines, ({ name }) => chainOf(name, engines).at(-1) ?? name).values()];
}

export function againstUnder(
	base: { model: ModelConfig; engine: EngineConfig } | undefined,
	model: string,
	counterparts: ReadonlyMap<string, string>,
): string | undefined {
	const against = base?.engine.against;
	const id = `${base?.model.name}/${against}`;
	const [renamed = ""] = [...counterparts].find(([, other]) => other === id) ?? [];
	return renamed.startsWith(`${model}/`) ? renamed.slice(model.length + 1) : against;
}

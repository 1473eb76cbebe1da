// Siblings: engines of one model of which one names the other under `against`, and has to be faster.
import type { EngineConfig, ModelConfig, WorkloadConfig } from "./config.ts";
import { suggest } from "./did-you-mean.ts";
import { formatName } from "./pointer.ts";
import type { Counterparts } from "./rules.ts";
import type { Resolution } from "./source.ts";

/** What is timed: equal for workloads of the same sizes and streams, whatever they are called. */
export function loadOf({ dims, streams }: Pick<WorkloadConfig, "dims" | "streams">): string {
	return JSON.stringify([streams, Object.entries(dims).sort()]);
}

export function* checkAgainst(engines: readonly EngineConfig[]): Resolution<void> {
	const byName = new Map(engines.map((engine) => [engine.name, engine]));
	for (const { name, against, pointer, workloads } of engines) {
		if (against === undefined) continue;
		const problem = { pointer: `${pointer}/against`, expected: "another engine of this model" };
		const others = [...byName.keys()].filter((other) => other !== name);
		const sibling = byName.get(against);
		if (sibling === undefined) {
			const fix = `Name one of its engines: ${others.map((other) => formatName(other)).join(", ") || "add one first"}.`;
			const says = `is ${formatName(against)}, which is no engine of this model`;
			yield { ...problem, says, ...suggest(against, others, fix) };
		} else if (chainOf(name, byName).includes(name)) {
			const says = against === name ? "names the engine itself" : "leads back to this engine";
			yield { ...problem, says, fix: "Let the engines lead to one reference, such as fp16." };
		} else if (!workloads.some((own) => sibling.workloads.some((other) => loadOf(own) === loadOf(other)))) {
			const says = `is ${formatName(against)}, with which it has no workload in common`;
			const fix = "Give both a workload of the same sizes and streams.";
			yield { ...problem, says, expected: "an engine that is timed at the same sizes", fix };
		}
	}
}

/** The engines that `name` leads to, up to one that closes a circle. */
function chainOf(name: string, engines: ReadonlyMap<string, EngineConfig>): string[] {
	const chain: string[] = [];
	let at = engines.get(name)?.against;
	while (at !== undefined && !chain.includes(at)) {
		chain.push(at);
		at = engines.get(at)?.against;
	}
	return chain;
}

/** The base's `against` by the names of the head's engines; one that the head lacks keeps its name. */
export function againstUnder(
	base: { model: Pick<ModelConfig, "name">; engine: EngineConfig } | undefined,
	headModel: string,
	counterparts: Counterparts,
): string | undefined {
	const against = base?.engine.against;
	if (base === undefined || against === undefined) return undefined;
	const [id] = [...counterparts].find(([, other]) => other === `${base.model.name}/${against}`) ?? [];
	return id?.startsWith(`${headModel}/`) ? id.slice(headModel.length + 1) : against;
}

/** Engines that have to be timed in one job. */
export function families(engines: readonly EngineConfig[]): EngineConfig[][] {
	const groups = engines.map((engine) => [engine]);
	for (const { name, against } of engines) {
		const [own, other] = [name, against].map((wanted) =>
			groups.findIndex((group) => group.some((engine) => engine.name === wanted)),
		);
		if (own === undefined || other === undefined || other < 0 || own === other) continue;
		const [kept, moved] = own < other ? [own, other] : [other, own];
		groups[kept]?.push(...(groups.splice(moved, 1)[0] ?? []));
	}
	return groups;
}

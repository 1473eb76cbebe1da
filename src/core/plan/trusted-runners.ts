// Restricts which machines a pull request's own config may choose.
import type { Config, RunnerConfig } from "../config/config.ts";
import type { Counterparts } from "../config/rules.ts";
import { exactPattern, keepSelected } from "../config/select.ts";
import { ConfigError } from "../errors.ts";
import { engineSpecs } from "./plan.ts";

/** Fewer labels match more machines, so a runner must have exactly the workflow's labels. @throws ConfigError config-value. */
export function refuseNewRunners(
	{ runners, path }: Pick<Config, "runners" | "path">,
	trusted: RunnerConfig["labels"],
): void {
	const foreign = runners.find(({ labels }) => keyOf(labels) !== keyOf(trusted));
	if (foreign === undefined) return;
	const got = JSON.stringify(foreign.labels);
	throw new ConfigError({
		code: "config-value",
		message: `${path}: the runner ${foreign.name} has the labels ${got}, which the config of the base does not name. A pull request cannot choose another machine.`,
		location: { path },
		fix: "Merge the new runner first, in a pull request of its own; it takes part from the next one on.",
	});
}

function keyOf(labels: RunnerConfig["labels"]): string {
	const [group, names] = "group" in labels ? [labels.group, labels.labels ?? []] : ["", labels];
	return JSON.stringify([group, names.map((name) => name.toLowerCase()).sort()]);
}

/**
 * The base's runners for the head's engines, renamed ones included. New engines go where the head puts them, if the base
 * has that runner.
 */
export function keepRunners(base: Sided, head: Sided, counterparts: Counterparts): RunnerConfig[] {
	const heads = engineSpecs(head).map(({ id }) => id);
	return base.runners.flatMap((runner) => {
		const measured = idsOf(base, runner.engines);
		const own = head.runners.find(({ name }) => name === runner.name);
		const added = new Set([
			...idsOf(head, runner.engines),
			...(own === undefined ? [] : idsOf(head, own.engines)),
		]);
		const mine = heads.filter((id) => {
			const was = counterparts.get(id);
			return was === undefined ? added.has(id) : measured.has(was);
		});
		if (mine.length === 0) return [];
		const kept = runner.engines.filter((pattern) => idsOf(head, [pattern]).size > 0);
		const isSame = kept.length === runner.engines.length && setKey(idsOf(head, kept)) === setKey(mine);
		return [isSame ? runner : { ...runner, engines: mine.map((id) => exactPattern(id)) }];
	});
}

type Sided = Pick<Config, "models" | "runners">;

function idsOf({ models }: Sided, patterns: readonly string[]): Set<string> {
	return new Set(engineSpecs({ models: keepSelected(models, patterns) }).map(({ id }) => id));
}

const setKey = (ids: Iterable<string>): string => JSON.stringify([...ids].sort());

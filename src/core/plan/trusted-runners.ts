// Which machines a pull request's own config may choose: those that the base's config names, and the workflow's own.
import type { Config, RunnerConfig } from "../config/config.ts";
import { ConfigError } from "../errors.ts";

export interface TrustedRunners {
	/** Of the base's config; none where it has no config. */
	base: readonly RunnerConfig[];
	/** Of the workflow. */
	labels: RunnerConfig["labels"];
}

/** Fewer labels match more machines, so a runner is trusted only with exactly the labels that it has in the base. @throws ConfigError config-value. */
export function refuseNewRunners({ runners, path }: Pick<Config, "runners" | "path">, trusted: TrustedRunners): void {
	const known = new Set([trusted.labels, ...trusted.base.map(({ labels }) => labels)].map(keyOf));
	const foreign = runners.find(({ labels }) => !known.has(keyOf(labels)));
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
	// Runners' labels do not distinguish letter case.
	return JSON.stringify([group, names.map((name) => name.toLowerCase()).sort()]);
}

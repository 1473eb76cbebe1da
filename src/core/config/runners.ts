// The kinds of runners that share the work: which engines are measured where.
import type { ConfigFile } from "../schema/config.ts";
import type { RunnerConfig } from "./config.ts";
import { childPointer } from "./pointer.ts";
import { complain, type Resolving } from "./resolving.ts";
import { checkName } from "./values.ts";

export function resolveRunners(resolving: Resolving, file: ConfigFile["runners"]): RunnerConfig[] {
	const seen = new Set<string>();
	return (file ?? []).map((runner, index) => {
		const pointer = childPointer("/runners", index);
		checkName(resolving, childPointer(pointer, "name"), { name: runner.name, what: "a runner", at: "value" });
		// Names become artifact names, which systems without case compare.
		const key = runner.name.toLowerCase();
		if (seen.has(key)) sayTwice(resolving, childPointer(pointer, "name"), runner.name);
		seen.add(key);
		return {
			name: runner.name,
			labels: labelsOf(runner.labels),
			engines: runner.engines ?? [],
			...(runner.device === undefined ? {} : { device: String(runner.device) }),
			split: runner.split ?? "none",
			pointer,
		};
	});
}

type RunsOn = NonNullable<ConfigFile["runners"]>[number]["labels"];

/** As `runs-on` takes it. */
function labelsOf(labels: RunsOn): RunnerConfig["labels"] {
	if (typeof labels === "string") return [labels];
	if (Array.isArray(labels)) return labels;
	return labels.labels === undefined || labels.labels.length === 0
		? { group: labels.group }
		: { group: labels.group, labels: labels.labels };
}

function sayTwice(resolving: Resolving, pointer: string, name: string): void {
	complain(resolving, {
		code: "config-value",
		pointer,
		says: `is ${JSON.stringify(name)}, as another runner's`,
		expected: "a name of its own",
		got: name,
		fix: "Rename one of them, or join their engines.",
	});
}

// Resolves `measure`: looks, times and switches, and what they must be together.
import type { ConfigFile, MeasureFile } from "../schema/config.ts";
import type { MeasureConfig, RunnerConfig } from "./config.ts";
import { defaultMeasure } from "./defaults.ts";
import { childPointer } from "./pointer.ts";
import { type Resolution, resolveEach } from "./problem.ts";
import { checkName, parseDuration } from "./values.ts";

export function* resolveMeasure(file: MeasureFile): Resolution<MeasureConfig> {
	const time = function* (key: "warm-up" | "duration" | "timeout" | "build-timeout" | "soak", byDefault: number): Resolution<number> {
		const text = file[key];
		return text === undefined ? byDefault : yield* parseDuration(`/measure/${key}`, { text, allowsZero: key === "warm-up" });
	};
	const measure: MeasureConfig = {
		looks: file.pairs ?? defaultMeasure.looks,
		warmUpMs: yield* time("warm-up", defaultMeasure.warmUpMs),
		durationMs: yield* time("duration", defaultMeasure.durationMs),
		adaptsLength: file["warm-up"] === undefined && file.duration === undefined,
		timeoutMs: yield* time("timeout", defaultMeasure.timeoutMs),
		buildTimeoutMs: yield* time("build-timeout", defaultMeasure.buildTimeoutMs),
		threads: file.threads ?? defaultMeasure.threads,
		rebuilds: file.rebuilds ?? defaultMeasure.rebuilds,
		soakMs: yield* time("soak", defaultMeasure.soakMs),
		identicalEngines: file["identical-engines"] ?? defaultMeasure.identicalEngines,
		cudaGraph: file["cuda-graph"] ?? defaultMeasure.cudaGraph,
		transfers: file.transfers ?? defaultMeasure.transfers,
		spinWait: file["spin-wait"] ?? defaultMeasure.spinWait,
	};
	const unchangedModels = file["unchanged-models"];
	if (unchangedModels !== undefined) measure.unchangedModels = unchangedModels;
	yield* checkLooks(measure.looks);
	yield* checkTimeout(measure);
	return measure;
}

function* checkLooks(looks: readonly number[]): Resolution<void> {
	const ascending = looks.every((look, index) => index === 0 || look > (looks[index - 1] ?? 0));
	if (ascending) return;
	const sorted = [...new Set(looks)].sort((left, right) => left - right);
	yield {
		pointer: "/measure/pairs",
		says: `is [${looks.join(", ")}]`,
		expected: "numbers of pairs that ascend",
		fix: `Write [${sorted.join(", ")}].`,
	};
}

function* checkTimeout({ warmUpMs, durationMs, timeoutMs }: MeasureConfig): Resolution<void> {
	if (warmUpMs + durationMs < timeoutMs) return;
	yield {
		pointer: "/measure/timeout",
		says: `is ${timeoutMs / 1000} s, and every run would be killed before its end`,
		expected: `more than warm-up and duration together, ${(warmUpMs + durationMs) / 1000} s`,
		fix: "Raise timeout, or shorten the runs.",
	};
}

export function* resolveRunners(file: ConfigFile["runners"]): Resolution<RunnerConfig[]> {
	const seen = new Set<string>();
	return yield* resolveEach(file ?? [], function* (runner, index) {
		const pointer = childPointer("/runners", index);
		yield* checkName(childPointer(pointer, "name"), { name: runner.name, what: "a runner", at: "value" });
		// Names become artifact names, which systems without case compare.
		const key = runner.name.toLowerCase();
		if (seen.has(key))
			yield {
				pointer: childPointer(pointer, "name"),
				says: `is ${JSON.stringify(runner.name)}, as another runner's`,
				expected: "a unique name",
				fix: "Rename one of them, or join their engines.",
			};
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

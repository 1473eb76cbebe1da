// Resolves `measure`: looks, times and switches, and what they must be together.
import type { ConfigFile, MeasureFile, RunnerFile } from "../../../generated/config.ts";
import type { MeasureConfig, RunnerConfig } from "./config.ts";
import { defaultMeasure } from "./defaults.ts";
import { childPointer } from "./pointer.ts";
import { type Resolution, resolveEach } from "./problem.ts";
import { checkName, parseDuration } from "./values.ts";

export function* resolveMeasure(file: MeasureFile): Resolution<MeasureConfig> {
	const time = function* (
		key: "warm-up" | "duration" | "timeout" | "build-timeout" | "soak",
		byDefault: number,
	): Resolution<number> {
		const text = file[key];
		return text === undefined
			? byDefault
			: yield* parseDuration(`/measure/${key}`, { text, allowsZero: key === "warm-up" });
	};
	const unchangedModels = file["unchanged-models"];
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
		unchangedModels,
	};
	const { looks, warmUpMs, durationMs, timeoutMs } = measure;
	if (looks.some((look, index) => look <= (looks[index - 1] ?? 0))) {
		const fix = `Write [${[...new Set(looks)].sort((left, right) => left - right).join(", ")}].`;
		yield {
			pointer: "/measure/pairs",
			says: `is [${looks.join(", ")}]`,
			expected: "numbers of pairs that ascend",
			fix,
		};
	}
	if (warmUpMs + durationMs >= timeoutMs) {
		const says = `is ${timeoutMs / 1000} s, and every run would be killed before its end`;
		const expected = `more than warm-up and duration together, ${(warmUpMs + durationMs) / 1000} s`;
		yield { pointer: "/measure/timeout", says, expected, fix: "Raise timeout, or shorten the runs." };
	}
	return measure;
}

export function* resolveRunners(file: ConfigFile["runners"]): Resolution<RunnerConfig[]> {
	const seen = new Set<string>();
	return yield* resolveEach(file ?? [], function* (runner, index) {
		const pointer = childPointer("/runners", index);
		const { name, labels, engines = [], device, split = "none" } = runner;
		const at = `${pointer}/name`;
		yield* checkName(at, { name, what: "a runner", at: "value" });
		// Names become artifact names, which systems without case compare.
		const key = name.toLowerCase();
		const fix = "Rename one of them, or join their engines.";
		if (seen.has(key))
			yield {
				pointer: at,
				says: `is ${JSON.stringify(name)}, as another runner's`,
				expected: "a unique name",
				fix,
			};
		seen.add(key);
		const own = device === undefined ? {} : { device: String(device) };
		return { name, labels: labelsOf(labels), engines, ...own, split, pointer };
	});
}

function labelsOf(labels: RunnerFile["labels"]): RunnerConfig["labels"] {
	if (typeof labels === "string") return [labels];
	if (Array.isArray(labels) || (labels.labels ?? []).length > 0) return labels;
	return { group: labels.group };
}

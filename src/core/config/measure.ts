// Resolves `measure` and `runners`.
import type { ConfigFile, MeasureFile, RunnerFile } from "../../../generated/config.ts";
import type { MeasureConfig, RunnerConfig } from "./config.ts";
import { defaultMeasure } from "./defaults.ts";
import { childPointer } from "./pointer.ts";
import { type Resolution, resolveEach } from "./problem.ts";
import { checkName, parseDuration } from "./values.ts";

const times = {
	warmUpMs: "warm-up",
	durationMs: "duration",
	timeoutMs: "timeout",
	buildTimeoutMs: "build-timeout",
} as const;

export function* resolveMeasure(file: MeasureFile): Resolution<MeasureConfig> {
	const adaptsLength = file["warm-up"] === undefined && file.duration === undefined;
	const measure: MeasureConfig = {
		...defaultMeasure,
		adaptsLength,
		looks: file.pairs ?? defaultMeasure.looks,
		threads: file.threads ?? defaultMeasure.threads,
		rebuilds: file.rebuilds ?? defaultMeasure.rebuilds,
		identicalEngines: file["identical-engines"] ?? defaultMeasure.identicalEngines,
		cudaGraph: file["cuda-graph"] ?? defaultMeasure.cudaGraph,
		transfers: file.transfers ?? defaultMeasure.transfers,
		spinWait: file["spin-wait"] ?? defaultMeasure.spinWait,
		unchangedModels: file["unchanged-models"],
	};
	for (const [key, name] of Object.entries(times) as [keyof typeof times, "duration"][]) {
		const options = { text: file[name] ?? "", allowsZero: key === "warmUpMs" };
		if (file[name] !== undefined) measure[key] = yield* parseDuration(`/measure/${name}`, options);
	}
	const { looks, warmUpMs, durationMs, timeoutMs } = measure;
	if (looks.some((look, index) => look <= (looks[index - 1] ?? 0))) {
		const fix = `Write [${[...new Set(looks)].sort((left, right) => left - right).join(", ")}].`;
		const says = `is [${looks.join(", ")}]`;
		yield { pointer: "/measure/pairs", says, expected: "numbers of pairs that ascend", fix };
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
		// Names become artifact names, which ignore case on some systems.
		const key = name.toLowerCase();
		const says = `is ${JSON.stringify(name)}, as another runner's`;
		const fix = "Rename one of them, or join their engines.";
		if (seen.has(key)) yield { pointer: at, says, expected: "a unique name", fix };
		seen.add(key);
		const gpu = device === undefined ? undefined : String(device);
		return { name, labels: labelsOf(labels), engines, device: gpu, split, pointer };
	});
}

function labelsOf(labels: RunnerFile["labels"]): RunnerConfig["labels"] {
	if (typeof labels === "string") return [labels];
	if (Array.isArray(labels) || (labels.labels ?? []).length > 0) return labels;
	return { group: labels.group };
}

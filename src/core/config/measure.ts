// Resolves `measure`: looks, times and switches, and what they must be together.
import type { MeasureFile } from "../schema/config.ts";
import type { MeasureConfig } from "./config.ts";
import { defaultMeasure } from "./defaults.ts";
import { complain, orDefault, type Resolving } from "./resolving.ts";
import { parseDuration } from "./values.ts";

export function resolveMeasure(resolving: Resolving, file: MeasureFile): MeasureConfig {
	const pick = <Value>(key: string, given: Value | undefined, byDefault: Value) =>
		orDefault(resolving, `/measure/${key}`, { given, byDefault });
	const time = (key: "warm-up" | "duration" | "timeout" | "build-timeout", byDefault: number) => {
		const text = file[key];
		const given = text === undefined ? undefined : parseDuration(resolving, `/measure/${key}`, { text, allowsZero: key === "warm-up" });
		return pick(key, given, byDefault);
	};
	const measure: MeasureConfig = {
		looks: pick<readonly number[]>("pairs", file.pairs, defaultMeasure.looks),
		warmUpMs: time("warm-up", defaultMeasure.warmUpMs),
		durationMs: time("duration", defaultMeasure.durationMs),
		timeoutMs: time("timeout", defaultMeasure.timeoutMs),
		buildTimeoutMs: time("build-timeout", defaultMeasure.buildTimeoutMs),
		threads: pick("threads", file.threads, defaultMeasure.threads),
		identicalEngines: pick("identical-engines", file["identical-engines"], defaultMeasure.identicalEngines),
		cudaGraph: pick("cuda-graph", file["cuda-graph"], defaultMeasure.cudaGraph),
		transfers: pick("transfers", file.transfers, defaultMeasure.transfers),
		spinWait: pick("spin-wait", file["spin-wait"], defaultMeasure.spinWait),
	};
	checkLooks(resolving, measure.looks);
	checkTimeout(resolving, measure);
	return measure;
}

function checkLooks(resolving: Resolving, looks: readonly number[]): void {
	const ascending = looks.every((look, index) => index === 0 || look > (looks[index - 1] ?? 0));
	if (ascending) return;
	const sorted = [...new Set(looks)].sort((left, right) => left - right);
	complain(resolving, {
		code: "config-value",
		pointer: "/measure/pairs",
		says: `is [${looks.join(", ")}]`,
		expected: "numbers of pairs that ascend",
		got: `[${looks.join(", ")}]`,
		fix: `Write [${sorted.join(", ")}].`,
	});
}

function checkTimeout(resolving: Resolving, { warmUpMs, durationMs, timeoutMs }: MeasureConfig): void {
	if (warmUpMs + durationMs < timeoutMs) return;
	complain(resolving, {
		code: "config-value",
		pointer: "/measure/timeout",
		says: `is ${timeoutMs / 1000} s, and every run would be killed before its end`,
		expected: `more than warm-up and duration together, ${(warmUpMs + durationMs) / 1000} s`,
		got: `${timeoutMs / 1000} s`,
		fix: "Raise timeout, or shorten the runs.",
	});
}

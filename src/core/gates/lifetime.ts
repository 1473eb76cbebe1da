// Gates of the life of a process: the time to its first inference, and memory that grows.
import type { GateResult, MemoryGrowthResult, StartUpResult } from "../../../generated/result.ts";
import { renderVerdict } from "../compare/sentence.ts";
import type { Config } from "../config/config.ts";
import { comparedStatus, type Level, openStatus, placeVerdict } from "./figures.ts";

export function judgeStartUp(
	{ model, engine, comparison }: StartUpResult,
	config: Config,
	level: Level,
): GateResult[] {
	const { gates } = level;
	const { warn, fail } = gates.startUp;
	const isOff = warn === undefined && fail === undefined;
	const judged = comparedStatus(comparison, gates.startUp, { gates, isExplained: true });
	const message = `Time to the first inference: ${renderVerdict(comparison)}`;
	return placeVerdict(["start-up", isOff ? null : judged, message], { model, engine }, { config, ...level });
}

export function judgeMemoryGrowth(
	{ model, engine, state, message }: MemoryGrowthResult,
	config: Config,
	level: Level,
): GateResult[] {
	const unknown = openStatus(level.gates);
	const status = ({ steady: "pass", grows: "fail", unknown } as const)[state];
	return placeVerdict(["memory-growth", status, message], { model, engine }, { config, ...level });
}

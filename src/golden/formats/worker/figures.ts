// Reads the golden worker's figures: times of a start, and samples of the memory.

import type { MemorySample } from "../../../core/compare/growth.ts";
import { loadParts } from "../../../core/compare/start-up.ts";
import { isObject } from "../../../core/found.ts";
import type { WorkerFigures } from "../../../ports/backend.ts";

/** null if they are not what worker/tensorrt.py writes. */
export function parseFigures(value: unknown): WorkerFigures | null {
	if (!isObject(value)) return null;
	return isObject(value["load"]) ? parseStartUp(value, value["load"]) : parseSoak(value);
}

type Fields = Readonly<Record<string, unknown>>;

function parseStartUp({ cold, runs }: Fields, load: Fields): WorkerFigures | null {
	const parts = loadParts.map((part) => [part, load[part]] as const);
	const isTime = (ms: unknown): ms is number => typeof ms === "number" && ms >= 0;
	if (!Array.isArray(runs) || runs.length === 0 || typeof cold !== "boolean") return null;
	if (!runs.every(isTime) || !parts.every(([, ms]) => isTime(ms))) return null;
	return { kind: "start-up", load: Object.fromEntries(parts) as never, cold, runsMs: runs };
}

function parseSoak({ steps, warmUp, shapes, samples }: Fields): WorkerFigures | null {
	if (!isCount(steps) || !isCount(warmUp) || !isCount(shapes)) return null;
	return Array.isArray(samples) && samples.every(isSample)
		? { kind: "soak", steps, warmUp, shapes, samples }
		: null;
}

const isCount = (value: unknown): value is number => typeof value === "number" && Number.isSafeInteger(value);

function isSample(value: unknown): value is MemorySample {
	if (!Array.isArray(value) || value.length !== 4) return false;
	const [used, blocks, ...bytes] = value as readonly unknown[];
	const isCounted = (used === null && blocks === null) || (isCount(used) && isCount(blocks));
	return isCounted && bytes.every(isCount);
}

// Reads what a cache says of an engine, which may come from another version of this program.
import type { BuildRecord } from "../../core/schema/result.ts";

export interface CachedBuild {
	durationMs: number;
	/** ISO 8601, UTC. */
	builtAt: string;
	recipe: Record<string, string>;
	warnings: BuildRecord["warnings"];
	notes: string[];
	weightsBytes: number;
	/** Kernel timings in the cache after the build; null where that was not told. */
	entries: number | null;
}

/** null: not what this version writes. */
export function parseCachedBuild(facts: unknown): CachedBuild | null {
	if (!isRecord(facts)) return null;
	const { durationMs, builtAt, recipe, warnings, notes, weightsBytes } = facts;
	if (typeof durationMs !== "number" || typeof builtAt !== "string" || typeof weightsBytes !== "number") return null;
	if (!isRecord(recipe) || !Array.isArray(warnings) || !Array.isArray(notes)) return null;
	return {
		durationMs,
		builtAt,
		recipe: Object.fromEntries(Object.entries(recipe).map(([key, value]) => [key, String(value)])),
		warnings: warnings.flatMap(parseWarning),
		notes: notes.map(String),
		weightsBytes,
		entries: parseEntries(facts),
	};
}

export function parseEntries(facts: unknown): number | null {
	return isRecord(facts) && typeof facts["entries"] === "number" ? facts["entries"] : null;
}

function parseWarning(value: unknown): BuildRecord["warnings"] {
	if (!isRecord(value) || typeof value["count"] !== "number") return [];
	return [{ class: String(value["class"]), count: value["count"], example: String(value["example"]) }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null;
}

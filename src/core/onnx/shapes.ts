// Writes shapes for people.
import type { OnnxDim } from "./model.ts";
import { quoteName } from "./quote.ts";

/** A shape for people: `[batch, 3, ?, 224]`. */
export function formatDims(dims: readonly OnnxDim[]): string {
	return `[${dims.map((dim) => (typeof dim === "string" ? quoteName(dim, "") : (dim ?? "?"))).join(", ")}]`;
}

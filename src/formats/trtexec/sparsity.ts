// Reads how many layers of a build were eligible for sparse kernels, and how many got one.
import type { Sparsity } from "../../../generated/result.ts";

/** TensorRT 8 lists names, 10 counts; the last pass over the kernels is the engine's. */
const line =
	/\(Sparsity\) (?:(Found|Chose) (\d{1,6}) layer|(Layers eligible)[^:]*:(.*)|TRT inference plan picked[^:]*:(.*))/;

export function createSparsityLog(): { feed(text: string): void; result(): Sparsity } {
	const found: Sparsity = { eligible: null, picked: null };
	return {
		feed(text) {
			const match = text.includes("(Sparsity)") ? line.exec(text) : null;
			if (match === null) return;
			const [, verb, count, isEligible, eligible = "", picked = ""] = match;
			const names = (eligible + picked).split(",").filter((name) => name.trim() !== "");
			found[verb === "Found" || isEligible !== undefined ? "eligible" : "picked"] = Number(
				count ?? names.length,
			);
		},
		result: () => found,
	};
}

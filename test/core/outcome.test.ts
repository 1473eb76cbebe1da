import { expect, it } from "vitest";
import type { ErrorRecord, GateResult, GateStatus } from "../../generated/result.ts";
import { mergeResults } from "../../src/core/merge/merge.ts";
import { failureKindOf, foldOutcome } from "../../src/core/outcome.ts";
import { worstOutcome } from "../../src/core/text/labels.ts";
import { buildResult } from "../support/build-result.ts";

const gate = (status: GateStatus): GateResult => ({ gate: "build", model: "m", status, message: "" });
const error = (kind: ErrorRecord["kind"]): ErrorRecord => ({ kind, code: "c", message: "" });

it.each<[GateStatus[], ErrorRecord["kind"][], string]>([
	[["pass", "pass"], [], "pass"],
	[["pass", "warn"], [], "warn"],
	[["warn", "inconclusive"], [], "inconclusive"],
	[["inconclusive", "error"], [], "error"],
	[["error", "fail", "pass"], [], "fail"],
	[["pass"], ["runner"], "error"],
	[["fail"], ["runner"], "fail"],
	[["pass"], ["github"], "pass"],
	[[], [], "error"],
	[[], ["configuration"], "error"],
])("foldOutcome of %j with errors %j is the worst: %s", (statuses, errors, outcome) => {
	expect(foldOutcome(statuses.map(gate), errors.map(error))).toBe(outcome);
});

const outcomes: GateStatus[] = ["pass", "warn", "inconclusive", "error", "fail"];

it("worstOutcome orders gates, and the parts of a merge, alike", () => {
	for (const [index, worse] of outcomes.entries()) {
		for (const better of outcomes.slice(0, index + 1)) {
			expect(worstOutcome([better, worse])).toBe(worse);
			expect(foldOutcome([gate(worse), gate(better)], [])).toBe(worse);
			const parts = [worse, better].map((status, at) => {
				const backend = { ...buildResult().backend, device: `GPU ${at}` };
				const result = buildResult({ backend, outcome: status, gates: [gate(status)], errors: [] });
				return { name: `part-${at}`, content: { state: "read" as const, result } };
			});
			expect(mergeResults(parts, { version: "0.1.0", files: [] }).outcome).toBe(worse);
		}
	}
});

it.each<[ErrorRecord["kind"][], string]>([
	[["runner"], "runner"],
	[["runner", "configuration"], "configuration"],
	[["configuration", "internal"], "internal"],
	[[], "configuration"],
])("failureKindOf of errors %j is %s: a retry is offered only if it can help", (kinds, kind) => {
	expect(failureKindOf("error", kinds.map(error))).toBe(kind);
});

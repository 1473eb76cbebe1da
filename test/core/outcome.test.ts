// Gates folded into one outcome.
import { describe, expect, it } from "vitest";
import { failureKindOf, foldOutcome } from "../../src/core/outcome.ts";
import type { ErrorRecord, GateResult, GateStatus } from "../../src/core/schema/result.ts";

const gate = (status: GateStatus): GateResult => ({ gate: "build", model: "m", status, message: "" });
const error = (kind: ErrorRecord["kind"]): ErrorRecord => ({ kind, code: "c", message: "" });

describe("foldOutcome", () => {
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
	])("of %j with errors %j is the worst: %s", (statuses, errors, outcome) => {
		expect(foldOutcome(statuses.map(gate), errors.map(error))).toBe(outcome);
	});

	it("does not depend on the order of the gates", () => {
		const statuses: GateStatus[] = ["pass", "warn", "inconclusive", "error", "fail"];
		for (let turn = 0; turn < statuses.length; turn += 1) {
			statuses.push(...statuses.splice(0, 1));
			expect(foldOutcome(statuses.map(gate), [])).toBe("fail");
		}
	});
});

describe("failureKindOf", () => {
	it.each<[ErrorRecord["kind"][], string]>([
		[["runner"], "runner"],
		[["runner", "configuration"], "configuration"],
		[["configuration", "internal"], "internal"],
		[[], "configuration"],
	])("of errors %j is %s: a retry is offered only where it can help", (kinds, kind) => {
		expect(failureKindOf("error", kinds.map(error))).toBe(kind);
	});

	it("is silent where a verdict decided", () => {
		expect(failureKindOf("fail", [error("runner")])).toBeUndefined();
	});
});

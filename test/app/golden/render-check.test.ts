// What `golden check` prints: failures at length, with the element to look at; what matches in a line for each limit.
import { expect, it } from "vitest";
import type { GoldenCheck, GoldenVerdict } from "../../../generated/result.ts";
import { renderCheck } from "../../../src/app/golden/render-check.ts";

const check = (change: Partial<GoldenCheck> = {}): GoldenCheck => ({
	output: "logits",
	metric: "relative-l2",
	got: 1e-4,
	allowed: 1e-3,
	bound: "at-most",
	pass: true,
	severity: "fail",
	elements: 10,
	...change,
});

function verdict(id: string, checks: GoldenCheck[], state: GoldenVerdict["state"] = "match"): GoldenVerdict {
	return {
		model: "m",
		engine: "e",
		precision: "fp32",
		case: id,
		golden: "net@1",
		modelChanged: false,
		state,
		checks,
	};
}

function render(cases: GoldenVerdict[]): string {
	const state = cases.every((one) => one.state === "match") ? "match" : "mismatch";
	return renderCheck({ golden: "net@1", precision: "fp32", outputs: "o", state, cases });
}

it("renderCheck reports how near matching cases came to each limit, and in which case", () => {
	const text = render([verdict("day", [check()]), verdict("night", [check({ got: 9e-4 })])]);
	expect(text).toBe(
		"✓ net@1 at fp32: 2 of 2 cases match\n  nearest to its limit:\n    ✓ logits: relative-l2 9e-4 (≤ 1e-3), in night\n",
	);
});

it("renderCheck shows failures first, each with the element, what was got and what expected", () => {
	const worst = { index: [0, 3], got: 1.5, expected: -2 };
	const bad = verdict(
		"night",
		[check({ got: 0.5, pass: false, sample: 2, worst }), check({ metric: "cosine" })],
		"mismatch",
	);
	expect(render([verdict("day", [check()]), bad])).toBe(
		[
			"✗ net@1 at fp32: 1 of 2 cases match",
			"✗ night",
			"    ✗ logits: relative-l2, sample 2 0.5 (≤ 1e-3)",
			"        at [0,3]: got 1.5, expected −2",
			"    ✓ 1 other check",
			"✓ day",
			"    ✓ logits: relative-l2 1e-4 (≤ 1e-3)",
			"",
		].join("\n"),
	);
});

it("renderCheck stays short where thousands fail alike", () => {
	const failing = Array.from({ length: 5000 }, (_, index) =>
		verdict(`c${index}`, [check({ got: 1, pass: false })], "mismatch"),
	);
	const text = render(failing);
	expect(text.split("\n").length).toBeLessThan(40);
	expect(text).toContain("… and 4,990 more cases with failures or warnings (--json shows them)");
});

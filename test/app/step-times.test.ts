// The time left of a run, and what its steps took, as its stages report them.
import { expect, it } from "vitest";
import { followSteps } from "../../src/app/step-times.ts";
import { silent } from "../support/fakes.ts";

function follow(steps: Parameters<typeof followSteps>[0]) {
	let now = 0;
	let left = (): number | null => null;
	const shown = {
		...silent,
		expect(leftMs: () => number | null): void {
			left = leftMs;
		},
	};
	const followed = followSteps(steps, shown, { now: () => now, timestamp: () => "" });
	return {
		...followed,
		left: () => left(),
		pass(ms: number): void {
			now += ms;
		},
	};
}

const steps = [
	["build net/fp16 (base)", 40],
	["build net/fp16 (head)", 10],
	["verify net/fp16", 6],
	["measure net/fp16/default", 20],
	["measure net/fp16/default · wide", 7],
	["explain", 4],
] as const;

it("the time left is what all remaining steps took before, less the time of the current one", () => {
	const { progress, left, pass } = follow(steps);
	expect(left()).toBe(87);
	progress.stage("build", 2);
	progress.item("net/fp16 (base)");
	pass(15);
	expect(left()).toBe(72);
	pass(100);
	expect(left()).toBe(47);
	progress.item("net/fp16 (head)");
	progress.done("built");
	progress.stage("verify", 2);
	progress.item("net/fp16 · cases 1 to 1 of 2");
	pass(3);
	expect(left()).toBe(34);
	progress.stage("measure", 2);
	progress.item("net/fp16/default · wide");
	expect(left()).toBe(11);
	progress.done("measured");
	progress.stage("explain", 1);
	progress.item("layers of net/fp16/default");
	expect(left()).toBe(4);
	progress.done("explained");
	expect(left()).toBe(0);
});

it("the time left is unknown until every remaining step is known", () => {
	const { progress, left } = follow([["build net/fp16 (head)", null], ...steps.slice(2)]);
	expect(left()).toBeNull();
	progress.stage("build", 1);
	progress.item("net/fp16 (head)");
	expect(left()).toBeNull();
	progress.done("built");
	expect(left()).toBe(37);
});

it("what a step took is the sum of its parts, and nothing for a step that this change spares", () => {
	const { progress, took, pass } = follow([
		["build net/fp16 (head)", 0],
		["verify net/fp16", null],
		["explain", 4],
	]);
	progress.stage("build", 1);
	progress.item("net/fp16 (head)");
	pass(1);
	progress.stage("verify", 2);
	for (const batch of ["cases 1 to 1 of 2", "cases 2 to 2 of 2"]) {
		progress.item(`net/fp16 · ${batch}`);
		pass(3);
	}
	progress.done("verified");
	progress.stage("explain", 1);
	progress.item("layers of net/fp16/default");
	pass(5);
	progress.done("explained");
	expect(took).toEqual({ "verify net/fp16": 6, explain: 5 });
});

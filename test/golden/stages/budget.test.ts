import { expect, it } from "vitest";
import { createBudget, recordBudget } from "../../../src/golden/stages/budget.ts";

function watch() {
	let nowMs = 1000;
	return { now: () => nowMs, pass: (ms: number) => (nowMs += ms) };
}

it("createBudget gives a phase its share of what is left, and the next phases what it did not use", () => {
	const clock = watch();
	const whole = createBudget(60_000, clock);
	const first = whole.part(0.5);
	clock.pass(10_000);
	expect([first.leftMs(), whole.leftMs(), whole.part(0.5).leftMs()]).toEqual([20_000, 50_000, 25_000]);
	clock.pass(70_000);
	expect([first, whole, whole.part(0.5), whole.turn(0, 4, 2)].map(({ leftMs }) => leftMs())).toEqual([
		0, 0, 0, 0,
	]);
});

it.each([
	[0, 4, 2, 30_000],
	[2, 4, 2, 60_000],
	[0, 3, 2, 30_000],
	[0, 3, 1, 20_000],
	[0, 3, 8, 60_000],
])("turn %i of %i runs, %i at a time, has %i ms of a minute", (index, runs, atOnce, expected) => {
	expect(createBudget(60_000, watch()).turn(index, runs, atOnce).leftMs()).toBe(expected);
});

it.each([
	[60_000, 52_800, 52_800],
	[10, 8.8, 45_000],
])("recordBudget of %i ms has %d ms in all, and %d ms for outputs and limits", (limitMs, whole, evidence) => {
	const budget = recordBudget(limitMs, watch());
	expect(budget.whole.leftMs()).toBeCloseTo(whole);
	expect(budget.evidence.leftMs()).toBe(evidence);
});

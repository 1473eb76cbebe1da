import { expect, it } from "vitest";
import { rangeDrift } from "../../../src/engine/core/range-drift.ts";

const of = (ranges: Record<string, number>) => new Map(Object.entries(ranges));

it.each([
	["the same ranges", { a: 1, b: 0 }, { a: 1, b: 0 }, 0, []],
	["the larger factor first, in both directions", { a: 1, b: 8, c: 3 }, { a: 2, b: 2, c: 3 }, 2, ["b", "a"]],
	["a range that was zero first", { a: 1, z: 0 }, { a: 9, z: 1 }, 2, ["z", "a"]],
	["tensors of one side as changed, without a row", { a: 1, gone: 1 }, { a: 2, new: 1, more: 1 }, 4, ["a"]],
])("rangeDrift shows %s", (_, base, head, changed, tensors) => {
	const drift = tensors.map((tensor) => ({
		...{ tensor, base: of(base).get(tensor), head: of(head).get(tensor) },
	}));
	expect(rangeDrift(of(base), of(head))).toEqual({ changed, drift });
});

it("rangeDrift shows ten ranges and counts all", () => {
	const [base, head] = [1, 2].map(
		(factor) => new Map(Array.from({ length: 30 }, (_, at) => [`t${at}`, 1 + at * factor])),
	);
	const { changed, drift } = rangeDrift(base!, head!);
	expect([changed, drift.length, drift[0]?.tensor]).toEqual([29, 10, "t29"]);
});

import { expect, it } from "vitest";
import { joinLayers, kernelOfInterest, withProfile } from "../../../../src/engine/core/explain/layers.ts";
import { parseTimedLayers } from "../../../../src/formats/trtexec/layer-profile.ts";
import { buildKernels, buildLayers } from "../../../support/build-layers.ts";
import { buildWorkload } from "../../../support/build-result.ts";
import { profiledArm } from "../../../support/recorded-engines.ts";

const profiled = profiledArm("slower-head", "base");
const base = parseTimedLayers(profiled["profile.json"], profiled["layers.json"]).layers;

it("the layers of a recorded engine have their times, types, precisions and kernels", () => {
	expect(base).toMatchObject({ iterations: 1898, count: 15 });
	expect(base.totalMs).toBeCloseTo(0.05672, 4);
	const stem = { name: "stem + stem.relu", type: "CaskConvolution", precision: "fp16" };
	expect(base.layers[1]).toMatchObject(stem);
	expect(base.layers[1]?.meanMs).toBeCloseTo(0.0059671, 7);
	expect(base.layers[1]?.tactic).toMatch(/^sm\d+_/);
	expect(base.layers.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
	expect(base.layers.filter(({ reformat }) => reformat === true)).toHaveLength(4);
});

it("the layers of a recorded engine have only times if the details cannot be read", () => {
	const times =
		'[\n  { "count" : 2 }\n, { "name" : "a", "timeMs" : 4, "averageMs" : 2, "percentage" : 100 }\n]\n';
	expect(parseTimedLayers(times, "nothing").layers.layers).toEqual([{ name: "a", meanMs: 2, share: 1 }]);
	expect(() => parseTimedLayers("[", "{}")).toThrow("cannot be read");
	expect(() => parseTimedLayers(times.replace('"averageMs" : 2', '"averageMs" : -2'), "nothing")).toThrow(
		"cannot be read",
	);
});

it("the layers of a recorded engine have no times from another engine's profile", () => {
	const [one, other] = [profiledArm("slower-head", "head"), profiledArm("same-model", "head")];
	expect(() => parseTimedLayers(other["profile.json"], one["layers.json"])).toThrow(
		/another engine: \d+ of its \d+ layers are not in layers\.json/,
	);
});

it("what is kept of layers and kernels is bounded: the slowest layers, in their order, their names cut in the middle", () => {
	const time = (index: number) => ({ name: `l${index}`, averageMs: index % 100, share: 0 });
	const many = Array.from({ length: 5000 }, (_, index) => time(index));
	const long = { ...time(99), name: `start${"x".repeat(5000)}end` };
	const kept = joinLayers({ iterations: 1, layers: [...many, long] }, null);
	expect([kept.count, kept.layers.length]).toEqual([5001, 2000]);
	expect(kept.layers.every(({ meanMs }) => meanMs >= 60)).toBe(true);
	expect(kept.layers.at(-1)?.name).toMatch(/^startx+…x+end$/);
	expect(kept.layers.at(-1)?.name.length).toBeLessThanOrEqual(300);
});

it("what is kept of layers and kernels lies beside its workload, and nothing else is touched", () => {
	const known = [buildWorkload({ id: "a" }), buildWorkload({ id: "b" })];
	const layers = buildLayers({ stem: 1 });
	const profiled = [
		{ id: "b", arm: "head", layers },
		{ id: "b", arm: "base", kernels: buildKernels({ k: 1 }) },
		{ id: "c", arm: "base", layers },
	] as const;
	const rows = known.map((row) => profiled.reduce(withProfile, row));
	expect(rows[0]?.layers).toBeUndefined();
	expect(rows[1]?.layers).toEqual({ base: null, head: layers });
	expect(rows[1]?.kernels?.head).toBeNull();
});

it.each([
	[{ a: 5, b: 1 }, { a: 5, b: 2 }, "b"],
	[{ a: 5, b: 1 }, { a: 5, c: 2 }, "c"],
	[{ a: 5, b: 2 }, { a: 4, b: 1 }, "a"],
	[null, { b: 1, a: 4 }, "b"],
	[null, null, undefined],
])("kernelOfInterest of %j and %j is %s", (base, head, name) => {
	const of = (times: object | null) => times && buildKernels(times as Record<string, number>);
	expect(kernelOfInterest({ base: of(base), head: of(head) })).toBe(name);
});

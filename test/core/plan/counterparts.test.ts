import fc from "fast-check";
import { expect, it } from "vitest";
import type { Precision } from "../../../generated/config.ts";
import { type EngineSpec, engineSpecs, findCounterparts, underNameOf } from "../../../src/core/plan/plan.ts";
import { buildConfig } from "../../support/build-config.ts";

interface Built {
	precision?: Precision;
	onnx?: string;
}

const [plain] = engineSpecs(buildConfig());

function spec(id: string, { precision = "fp32", onnx = "net.onnx" }: Built = {}): EngineSpec {
	const [model = "", engine = ""] = id.split("/");
	const { engine: own, ...of } = plain!;
	const named = { model: { ...of.model, name: model }, engine: { ...own, name: engine, precision, onnx } };
	return { ...of, id, ...named };
}

const always = () => true;
const never = () => false;
const sameFile = (one: EngineSpec, other: EngineSpec) => one.engine.onnx === other.engine.onnx;

it("findCounterparts finds a renamed engine by the same path, else by the same content", () => {
	const base = [spec("net/old"), spec("net/older", { onnx: "older.onnx" })];
	const [head, moved] = [spec("net/new"), spec("net/new", { onnx: "new.onnx" })];
	expect([...findCounterparts(base, [head], never)]).toEqual([["net/new", "net/old"]]);
	expect([...findCounterparts(base, [head], (one) => one === base[1])]).toEqual([["net/new", "net/old"]]);
	expect([...findCounterparts(base, [moved], always)]).toEqual([["net/new", "net/old"]]);
	const copy = spec("copy/old", { onnx: "copy.onnx" });
	expect([...findCounterparts([base[0]!], [copy, head], (_, one) => one === copy)]).toEqual([
		["net/new", "net/old"],
	]);
	expect(findCounterparts(base, [moved], never).size).toBe(0);
});

it("findCounterparts prefers the most similar of several engines of one file", () => {
	const specs = (precisions: Record<string, Precision>) =>
		Object.entries(precisions).map(([id, precision]) => spec(id, { precision }));
	const base = specs({ "old/fast": "fp16", "old/small": "int8", "old/exact": "fp32" });
	const head = specs({ "new/quantised": "int8", "new/fast": "bf16", "new/reference": "fp32" });
	const found = { "new/quantised": "old/small", "new/fast": "old/fast", "new/reference": "old/exact" };
	const expected = new Map(Object.entries(found));
	expect(findCounterparts(base, head, always)).toEqual(expected);
	expect(findCounterparts([...base].reverse(), [...head].reverse(), always)).toEqual(expected);
});

const named = fc.record({
	id: fc.constantFrom(..."a/x a/y a/z b/x b/y b/z c/x c/y c/z".split(" ")),
	precision: fc.constantFrom<Precision>("fp32", "fp16", "int8"),
	onnx: fc.constantFrom("1.onnx", "2.onnx", "3.onnx"),
});
const side = fc
	.uniqueArray(named, { maxLength: 9, selector: ({ id }) => id })
	.map((list) => list.map(({ id, ...built }) => spec(id, built)));

it("findCounterparts pairs one to one, namesakes first, and otherwise only the same content", () => {
	fc.assert(
		fc.property(side, side, (base, head) => {
			const found = findCounterparts(base, head, sameFile);
			const [bases, heads] = [base, head].map((specs) => new Map(specs.map((one) => [one.id, one])));
			expect(new Set(found.values()).size).toBe(found.size);
			for (const [own, other] of found) {
				const [one, two] = [heads?.get(own), bases?.get(other)];
				expect([one, two]).not.toContain(undefined);
				if (own !== other && one !== undefined && two !== undefined) expect(sameFile(two, one)).toBe(true);
			}
			for (const { id } of head) if (bases?.has(id)) expect(found.get(id)).toBe(id);
			const taken = new Set(found.values());
			for (const one of head.filter(({ id }) => !found.has(id)))
				for (const other of base.filter(({ id }) => !taken.has(id))) expect(sameFile(other, one)).toBe(false);
		}),
		{ numRuns: 500 },
	);
});

it("findCounterparts asks for the content of nothing that has a namesake", () => {
	fc.assert(
		fc.property(side, side, (base, head) => {
			const shared = new Set(base.map(({ id }) => id).filter((id) => head.some((one) => one.id === id)));
			findCounterparts(base, head, (one, other) => {
				expect([shared.has(one.id), shared.has(other.id)]).toEqual([false, false]);
				return true;
			});
		}),
	);
});

it("underNameOf gives the base's engine the head's name and keeps its own recipe", () => {
	const [base, head] = [
		spec("old/fast", { precision: "fp16", onnx: "old.onnx" }),
		spec("new/faster", { precision: "int8", onnx: "new.onnx" }),
	];
	const names = { id: "new/faster", was: "old/fast", model: { name: "new" } };
	const engine = { name: "faster", precision: "fp16", onnx: "old.onnx" };
	expect(underNameOf(head, base)).toMatchObject({ ...names, engine });
	expect(underNameOf(base, base)).toBe(base);
});

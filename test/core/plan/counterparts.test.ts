// Which engine of the base each engine of the head is compared with.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Precision } from "../../../generated/config.ts";
import { type EngineSpec, engineSpecs, findCounterparts, underNameOf } from "../../../src/core/plan/plan.ts";
import { buildConfig } from "../../support/build-config.ts";

interface Named {
	model: string;
	engine: string;
	precision?: Precision;
	onnx?: string;
}

const [plain] = engineSpecs(buildConfig());

function spec({ model, engine, precision = "fp32", onnx = "net.onnx" }: Named): EngineSpec {
	if (plain === undefined) throw new Error("no engine");
	const id = `${model}/${engine}`;
	return {
		...plain,
		id,
		model: { ...plain.model, name: model },
		engine: { ...plain.engine, name: engine, precision, onnx },
	};
}

const always = () => true;
const never = () => false;
const sameFile = (one: EngineSpec, other: EngineSpec): boolean => one.engine.onnx === other.engine.onnx;

it("findCounterparts chooses the engine of the same name, whatever it is built from", () => {
	const base = [
		spec({ model: "a", engine: "x", onnx: "a.onnx" }),
		spec({ model: "b", engine: "x", onnx: "b.onnx" }),
	];
	const swapped = [
		spec({ model: "a", engine: "x", onnx: "b.onnx" }),
		spec({ model: "b", engine: "x", onnx: "a.onnx" }),
	];
	expect([...findCounterparts(base, swapped, sameFile)]).toEqual([
		["a/x", "a/x"],
		["b/x", "b/x"],
	]);
});

it("findCounterparts finds a renamed engine by its content, and nothing if the content differs", () => {
	const [base, head] = [[spec({ model: "net", engine: "old" })], [spec({ model: "net", engine: "new" })]];
	expect([...findCounterparts(base, head, always)]).toEqual([["net/new", "net/old"]]);
	expect(findCounterparts(base, head, never).size).toBe(0);
});

it("findCounterparts matches a renamed engine with the most similar of several engines of one file", () => {
	const base = [
		spec({ model: "old", engine: "fast", precision: "fp16" }),
		spec({ model: "old", engine: "small", precision: "int8" }),
		spec({ model: "old", engine: "exact", precision: "fp32" }),
	];
	const head = [
		spec({ model: "new", engine: "quantised", precision: "int8" }),
		spec({ model: "new", engine: "fast", precision: "bf16" }),
		spec({ model: "new", engine: "reference", precision: "fp32" }),
	];
	const expected = new Map([
		["new/quantised", "old/small"],
		["new/fast", "old/fast"],
		["new/reference", "old/exact"],
	]);
	expect(findCounterparts(base, head, always)).toEqual(expected);
	expect(findCounterparts([...base].reverse(), [...head].reverse(), always)).toEqual(expected);
});

it("findCounterparts matches the base's engine with its namesake, even if another one has its content", () => {
	const base = [spec({ model: "net", engine: "a", onnx: "1.onnx" })];
	const head = [
		spec({ model: "net", engine: "b", onnx: "1.onnx" }),
		spec({ model: "net", engine: "a", onnx: "2.onnx" }),
	];
	expect([...findCounterparts(base, head, sameFile)]).toEqual([["net/a", "net/a"]]);
});

describe("findCounterparts of any two sides", () => {
	const named = fc.record({
		model: fc.constantFrom("a", "b", "c"),
		engine: fc.constantFrom("x", "y", "z"),
		precision: fc.constantFrom<Precision>("fp32", "fp16", "int8"),
		onnx: fc.constantFrom("1.onnx", "2.onnx", "3.onnx"),
	});
	const side = fc
		.uniqueArray(named, { maxLength: 9, selector: ({ model, engine }) => `${model}/${engine}` })
		.map((list) => list.map(spec));

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
				// Nothing that could be compared is left over.
				const taken = new Set(found.values());
				for (const one of head.filter(({ id }) => !found.has(id)))
					for (const other of base.filter(({ id }) => !taken.has(id)))
						expect(sameFile(other, one)).toBe(false);
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
});

it("underNameOf gives the base's engine the head's name and keeps its own recipe", () => {
	const [base, head] = [
		spec({ model: "old", engine: "fast", precision: "fp16", onnx: "old.onnx" }),
		spec({ model: "new", engine: "faster", precision: "int8", onnx: "new.onnx" }),
	];
	const renamed = underNameOf(head, base);
	expect(renamed).toMatchObject({
		id: "new/faster",
		was: "old/fast",
		model: { name: "new" },
		engine: { name: "faster" },
	});
	expect(renamed.engine).toMatchObject({ precision: "fp16", onnx: "old.onnx" });
	expect(underNameOf(base, base)).toBe(base);
});

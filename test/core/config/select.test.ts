import fc from "fast-check";
import { expect, it } from "vitest";
import type { Config } from "../../../src/core/config/config.ts";
import {
	exactPattern,
	formatPatterns,
	keepSelected,
	parsePatterns,
	pinShapes,
	selectModels,
} from "../../../src/core/config/select.ts";
import { loaded } from "./load.ts";

const engines = "engines: { fp16: { precision: fp16 }, int8: { precision: int8 } }";
const { models } = loaded(`version: 1
models:
  resnet50: { onnx: a.onnx, ${engines} }
  bert: { onnx: b.onnx, ${engines} }
  "org/net": { onnx: c.onnx, engines: { "*": { precision: fp16 } } }
`);

function ids(list: Config["models"]) {
	return list.flatMap((model) => model.engines.map((engine) => `${model.name}/${engine.name}`));
}

it.each([
	["", ["resnet50/fp16", "resnet50/int8", "bert/fp16", "bert/int8", "org/net/*"]],
	["resnet50/fp16", ["resnet50/fp16"]],
	["*/int8", ["resnet50/int8", "bert/int8"]],
	["bert, resnet50/int8", ["resnet50/int8", "bert/fp16", "bert/int8"]],
	["bert\nresnet50/int8\n", ["resnet50/int8", "bert/fp16", "bert/int8"]],
	["r*t50/f*6", ["resnet50/fp16"]],
	["org/net", ["org/net/*"]],
	["org/net/\\*", ["org/net/*"]],
	["resnet50,resnet50", ["resnet50/fp16", "resnet50/int8"]],
])("the pattern %j means %j", (text, wanted) => {
	const selected = selectModels(models, parsePatterns(text));
	expect(selected.state === "ok" ? ids(selected.models) : selected).toEqual(wanted);
});

it.each([
	["resnet5", "resnet50"],
	["resnet50/fp61", "resnet50/fp16"],
	["*/\\*x", undefined],
	["resnet50/\\*", undefined],
])("the pattern %j is refused and %j is offered", (text, meant) => {
	const selected = selectModels(models, parsePatterns(text));
	expect(selected).toMatchObject({ state: "unknown", problems: [meant === undefined ? {} : { meant }] });
});

it("every engine is kept exactly once by its own pattern, whatever its name", () => {
	const name = fc
		.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom("a", "*", ",", "\\", " ", "é", "|", "_") })
		.filter((text) => text.trim() !== "");
	const list = fc.uniqueArray(name, { minLength: 1, maxLength: 5 }).map((names) => {
		return names.map((modelName) => ({ ...models[0]!, name: modelName }));
	});
	fc.assert(
		fc.property(list, (all) => {
			for (const model of all) {
				const patterns = model.engines.map((engine) => exactPattern(model.name, engine.name));
				expect(parsePatterns(formatPatterns(patterns))).toEqual(patterns);
				expect(ids(keepSelected(all, patterns))).toEqual(ids([model]));
				expect(ids(keepSelected(all, [exactPattern(model.name)]))).toEqual(ids([model]));
			}
		}),
	);
});

it("pinned shapes make one workload of a short name, and engines for its other sizes", () => {
	const { models: list } = loaded(`version: 1
models:
  a: { onnx: a.onnx, dims: { n: { min: 1, opt: 4, max: 8 } }, ${engines}, workloads: [{ n: 8 }, { n: 1 }] }
`);
	const shapes = { x: { shape: [1, 3] }, y: { shape: [] }, z: { shape: [2] } };
	const [pinned] = pinShapes(list, shapes);
	const dims = { n: { min: 8, opt: 8, max: 8 } };
	expect(pinned?.inputs).toEqual({ x: { pinned: [1, 3] }, y: { pinned: [] }, z: { pinned: [2] } });
	expect(pinned?.engines).toMatchObject(
		[1, 2].map(() => ({
			dims,
			profiles: [dims],
			workloads: [{ name: "x 1×3, y scalar and 1 more", dims: { n: 8 } }],
		})),
	);
	expect(pinned?.engines[0]?.workloads).toHaveLength(1);
});

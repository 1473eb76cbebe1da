import { expect, it } from "vitest";
import { changedRecipesNote } from "../../../src/core/plan/plan.ts";
import { loaded } from "../config/load.ts";

const configOf = (engine: string, before = "") =>
	loaded(`version: 1\n${before}models:\n  net: { onnx: net.onnx, engines: { fast: ${engine} } }\n  other: { onnx: other.onnx }\n`);

it.each([
	["the precision", "{ precision: fp16 }"],
	["a build setting", "{ precision: fp32, optimization-level: 1 }"],
])("names the engines of which the head changes %s", (_, engine) => {
	const note = changedRecipesNote(configOf(engine), configOf("{ precision: fp32 }"));
	expect(note).toHaveLength(1);
	expect(note[0]).toMatch(/builds net\/fast differently .* is not measured\.$/);
});

it("the review of recipes says nothing where limits or lines move, of new engines, and without a base", () => {
	const plain = configOf("{ precision: fp32 }");
	const moved = configOf("{ precision: fp32 }", "gates: { latency: { warn: 3% } }\n");
	expect(changedRecipesNote(moved, plain)).toEqual([]);
	expect(changedRecipesNote(configOf("{ precision: fp16 }"), { models: [] })).toEqual([]);
	expect(changedRecipesNote(configOf("{ precision: fp16 }"), undefined)).toEqual([]);
});

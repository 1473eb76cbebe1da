import { expect, it } from "vitest";
import { withoutGolden } from "../../src/app/conclude.ts";
import { loaded } from "../core/config/load.ts";

const modelsOf = (models: string) => loaded(`version: 1\nmodels:\n${models}`);

it("engines without a golden are named, or the model if all of its engines lack one", () => {
	const config =
		modelsOf(`  some: { onnx: a.onnx, engines: { fp32: { precision: fp32, golden: g/golden.json }, fp16: { precision: fp16 } } }
  none: { onnx: b.onnx, engines: { fp32: { precision: fp32 }, fp16: { precision: fp16 } } }
  all: { onnx: c.onnx, golden: g/golden.json }
`);
	expect(withoutGolden(config)).toEqual([
		expect.stringContaining("outputs are not checked: some/fp16, none."),
	]);
	expect(withoutGolden(modelsOf("  all: { onnx: c.onnx, golden: g/golden.json }\n"))).toEqual([]);
});

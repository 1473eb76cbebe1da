// Whether a version of TensorRT has an operator.
import fc from "fast-check";
import { expect, it } from "vitest";
import { isAtLeast, standingOf, tensorRtOf } from "../../../../src/core/onnx/tensorrt/support.ts";

function standing(
	version: string | undefined,
	name: string,
	kind: "operators" | "plugins" = "operators",
): string {
	const { has, isCertain, because } = standingOf(tensorRtOf(version), kind, name);
	return `${isCertain ? "surely" : "maybe"} ${has ? "yes" : "no"}${because === undefined ? "" : ` (${because})`}`;
}

it.each<[string | undefined, string, string]>([
	["10.15", "Det", "surely no"],
	["10.15.1", "Relu", "surely yes"],
	["10.6.0", "Det", "surely no (neither 10.1 nor 10.14 does)"],
	["10.6", "Relu", "surely yes (10.1 and 10.14 both do)"],
	["10.6", "Attention", "maybe no (10.1 does not, 10.14 does)"],
	["11.0", "Swish", "maybe no (10.15 does not, 11.1 does)"],
	["11", "Det", "surely no (neither 10.15 nor 11.1 does)"],
	["11.2.1", "Det", "maybe no (11.1, the newest version listed, does not)"],
	["8.5", "Gelu", "maybe no (8.6, the oldest version listed, does not)"],
	[undefined, "Det", "maybe no (11.1, the newest version listed, does not)"],
	["ten", "Det", "maybe no (11.1, the newest version listed, does not)"],
	["8.6", "Gelu", "surely no"],
	["10.0", "Gelu", "surely yes"],
])("TensorRT %s has %s: %s", (version, name, expected) => {
	expect(standing(version, name)).toBe(expected);
});

it("a version knows the plugins that TensorRT 11 dropped", () => {
	expect(standing("10.6", "BatchedNMS_TRT", "plugins")).toBe("surely yes (10.1 and 10.14 both do)");
	expect(standing("11.1", "BatchedNMS_TRT", "plugins")).toBe("surely no");
	expect(standing("11.1", "EfficientNMS_TRT", "plugins")).toBe("surely yes");
});

it("a version can be read from any text without a failure", () => {
	fc.assert(
		fc.property(fc.string(), (text) => {
			expect(tensorRtOf(text).name).toMatch(/^TensorRT( \d{1,4}\.\d{1,4})?$/);
		}),
	);
});

it("isAtLeast compares versions as numbers, and unknown ones not at all", () => {
	expect(isAtLeast(tensorRtOf("10.9"), 10, 11)).toBe(false);
	expect(isAtLeast(tensorRtOf("10.11"), 10, 9)).toBe(true);
	expect(isAtLeast(tensorRtOf(undefined), 10, 9)).toBe(null);
});

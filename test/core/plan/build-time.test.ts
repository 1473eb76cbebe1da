// What a cold build should take, against what recorded builds took.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { buildWorkOf, coldBuildMs, secondBuildMs } from "../../../src/core/plan/build-time.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import { attribute, graph, model, node } from "../../support/onnx-writer.ts";
import { loaded } from "../config/load.ts";

const engineOf = (precision: string, level = "") =>
	loaded(`version: 1\nmodels: { net: { onnx: net.onnx, engines: { one: { precision: ${precision}${level} } } } }`).models[0]!.engines[0]!;

const recorded = readFileSync(new URL("../../../bench/build-times.tsv", import.meta.url), "utf8")
	.trim()
	.split("\n")
	.slice(1)
	.map((line) => {
		const [model = "", precision = "", convolutions, groupedConvolutions, , seconds] = line.split("\t");
		const work = { convolutions: Number(convolutions), groupedConvolutions: Number(groupedConvolutions) };
		return { model, precision, seconds: Number(seconds), ratio: coldBuildMs(work, engineOf(precision)) / 1000 / Number(seconds) };
	});

it("recorded cold builds of public models take what the law says, within a factor of 4, and most within 1.7", () => {
	const logs = recorded.map(({ ratio }) => Math.log(ratio));
	expect(recorded.length).toBeGreaterThan(30);
	expect(Math.abs(logs.reduce((sum, log) => sum + log, 0) / logs.length)).toBeLessThan(0.1);
	expect(recorded.filter(({ ratio }) => ratio < 1 / 4 || ratio > 4)).toEqual([]);
	expect(logs.filter((log) => Math.abs(log) < Math.log(1.7)).length / logs.length).toBeGreaterThan(0.6);
});

it("a build takes longer at a higher optimization level and for a narrower precision, and less with another build's timings", () => {
	const work = { convolutions: 24, groupedConvolutions: 2 };
	const levels = [0, 1, 2, 3, 4, 5].map((level) => coldBuildMs(work, engineOf("fp32", `, optimization-level: ${level}`)));
	expect(levels).toEqual(levels.toSorted((a, b) => a - b));
	expect(levels[3]).toBe(coldBuildMs(work, engineOf("fp32")));
	const precisions = ["fp32", "tf32", "fp16", "int8"].map((precision) => coldBuildMs(work, engineOf(precision)));
	expect(precisions).toEqual(precisions.toSorted((a, b) => a - b));
	expect(secondBuildMs(work, engineOf("fp16"))).toBeLessThan(coldBuildMs(work, engineOf("fp32")));
});

it("convolutions are counted in subgraphs too, grouped ones apart", () => {
	const conv = (op: string, group?: number) =>
		node({ op, attributes: group === undefined ? [] : [attribute.integer("group", group)], outputs: ["y"] });
	const branch = graph({ nodes: [conv("Conv", 8), conv("Conv")] });
	const nodes = [conv("Conv"), conv("Conv", 1), conv("ConvTranspose"), conv("Relu"), conv("ConvTranspose", 4)];
	const inIf = node({ op: "If", attributes: [attribute.graph("then_branch", branch)], outputs: ["z"] });
	const onnx = readOnnx(memorySource(model({ nodes: [...nodes, inIf] })), "m.onnx");
	expect(buildWorkOf(onnx)).toEqual({ convolutions: 4, groupedConvolutions: 2 });
});

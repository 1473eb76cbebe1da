// Where a model answers in integers, the numbers that they are chosen from are named.
import { describe, expect, it } from "vitest";
import {
	findInnerNumbers,
	findSensitivityWeaknesses,
} from "../../../../src/core/golden/record/sensitivity-findings.ts";
import { memorySource } from "../../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../../src/formats/onnx/reader.ts";
import { float32, int64 } from "../../../support/golden-tensors.ts";
import { model, node } from "../../../support/onnx-writer.ts";

const graphOf = (...nodes: Uint8Array[]) => readOnnx(memorySource(model({ nodes })), "m.onnx").graph;
const fc = node({ op: "MatMul", inputs: ["x", "w"], outputs: ["logits"] });
const best = node({ op: "ArgMax", inputs: ["logits"], outputs: ["best"] });

it("findInnerNumbers goes back over casts and masks to what each answer is chosen from", () => {
	const other = node({ op: "Add", inputs: ["x", "b"], outputs: ["gate"] });
	const open = node({ op: "ArgMax", inputs: ["gate"], outputs: ["open"] });
	const equal = node({ op: "Equal", inputs: ["open", "zero"], outputs: ["bare"] });
	const where = node({ op: "Where", inputs: ["bare", "zero", "best"], outputs: ["picked"] });
	const cast = node({ op: "Cast", inputs: ["picked"], outputs: ["y"] });
	expect(findInnerNumbers(graphOf(fc, best, other, open, equal, where, cast), "y")).toEqual([
		"logits",
		"gate",
	]);
});

describe("findSensitivityWeaknesses", () => {
	const record = (moving: number) => ({
		...{ state: "complete" as const, seed: 1, planned: 80, tensors: 10, tested: 80 },
		precisions: { fp32: { kinds: { "tensor-noise": { tried: 40, moving, noticed: moving } }, missed: [] } },
	});
	const graph = graphOf(fc, best);
	const least = { fp32: 1 };
	it("findSensitivityWeaknesses refuses integers that show few defects, and names the tensor to export", () => {
		const [found] = findSensitivityWeaknesses({
			record: record(4),
			graph,
			reference: [{ best: int64([1n]) }],
			least,
		});
		expect(found).toMatchObject({
			kind: "hidden",
			severity: "refuse",
			message: expect.stringContaining("show 4 of 40"),
			fix: expect.stringContaining('"logits"'),
		});
	});

	it("findSensitivityWeaknesses warns where no defect moves anything", () => {
		const warned = [
			{
				kind: "unmeasured",
				severity: "warn",
				message: expect.stringContaining("unknown what the golden notices"),
			},
		];
		expect(
			findSensitivityWeaknesses({ record: record(0), graph, reference: [{ boxes: float32([1]) }], least }),
		).toMatchObject(warned);
	});

	it("findSensitivityWeaknesses warns where no case depends on many weights", () => {
		const unseen = { ...record(30), unseen: ["a", "b", "c"] };
		expect(
			findSensitivityWeaknesses({ record: unseen, graph, reference: [{ logits: float32([1]) }], least }),
		).toMatchObject([{ kind: "unseen", severity: "warn" }]);
	});
});

// Annotations: levels, places, no repeats, never more than the forge takes.

import { expect, it } from "vitest";
import { annotations } from "../../../src/core/report/check-run.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";
import { resultCases } from "../../support/result-cases.ts";

it("annotations point at the place in the config", () => {
	expect(annotations(resultCases["mismatch-and-slowdown"] ?? buildResult())[0]).toEqual({
		level: "error",
		title: "segmenter · fp32 · case0: golden fail",
		message: "relative-l2 of logits_out is 0.0318; allowed at most 0.001.",
		path: "trtgate.yml",
		line: 14,
		column: 7,
	});
});

it("annotations report the same message about the same place once", () => {
	const gate = buildGate({ status: "fail", message: "Same.", location: { path: "trtgate.yml", line: 1 } });
	const location = { path: "m.onnx" };
	const finding = { code: "c", severity: "warning", message: "Same finding.", location } as const;
	const findings = (["base", "head"] as const).map((arm) => ({ ...finding, arm }));
	const list = annotations(buildResult({ gates: [gate, { ...gate, workload: "another" }], findings }));
	expect(list.map((annotation) => annotation.level)).toEqual(["error", "warning"]);
});

it("annotations are at most 50, loudest first, the last counting the rest", () => {
	const gates = Array.from({ length: 120 }, (_, index) =>
		buildGate({
			workload: `w${index}`,
			status: index === 119 ? "fail" : "warn",
			message: `Message ${index}.`,
		}),
	);
	const list = annotations(buildResult({ gates }));
	expect(list).toHaveLength(50);
	expect(list[0]?.level).toBe("error");
	expect(list.at(-1)).toEqual({
		level: "notice",
		title: "71 more",
		message: "71 more annotations are in report.html and result.json.",
	});
});

it("annotations carry no control character", () => {
	for (const { title, message, path } of annotations(resultCases["hostile"] ?? buildResult())) {
		expect(`${title}${message}${path ?? ""}`).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
	}
});

it("annotations call counted work by its name", () => {
	const list = annotations(resultCases["on-cpu"] ?? buildResult());
	expect(list.filter(({ title }) => title.includes("batch 8")).map(({ title }) => title)).toEqual([
		"classifier · fp16 · batch 8: work (CPU, not TensorRT) warn",
	]);
});

// A wrong weight that moves boxes or scores a little is noticed by limits that follow from how far the pairs moved.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noticingBoxes, tightenDetections } from "../../../../src/core/golden/record/mutate-boxes.ts";
import { judgeMutation, type MutationFinding } from "../../../../src/core/golden/record/mutate-judge.ts";
import { canBeNoticed, describeTightened, describeUnnoticed, tightenOutputs } from "../../../../src/core/golden/record/mutate-tighten.ts";
import type { Detections, GoldenManifest } from "../../../../src/core/schema/golden.ts";
import { float32, manifestOf } from "../../../support/golden-tensors.ts";

const boxes = float32([0, 0, 40, 40, 50, 50, 90, 80], [1, 2, 4]);
const scores = float32([0.9, 0.6], [1, 2]);
const group: Detections = {
	name: "found",
	boxes: "boxes",
	scores: "scores",
	format: "xyxy",
	comparators: [{ kind: "box-missing" }, { kind: "box-iou", tolerance: { fp32: 0.98 } }, { kind: "box-score", tolerance: { fp32: 0.01 } }],
};
const reference = [{ boxes, scores }];

function manifest(detections: Detections, noise = 1e-6): GoldenManifest {
	const outputs = { boxes: { relativeL2: noise, maxAbs: noise }, scores: { relativeL2: noise, maxAbs: noise } };
	return { ...manifestOf({ boxes, scores }), outputs: {}, detections: [detections], noiseFloor: { runs: ["again"], outputs } };
}

/** The order of the boxes changes too: only pairs tell how far they moved. */
function run(pixels: number, score: number) {
	const moved = float32([50, 50, 90, 80, pixels, 0, 40 + pixels, 40], [1, 2, 4]);
	return { tensor: "w", state: "ran" as const, outputs: [{ boxes: moved, scores: float32([0.6, 0.9 + score], [1, 2]) }] };
}

function judge(mutation: ReturnType<typeof run>, of: GoldenManifest): MutationFinding {
	return judgeMutation(mutation, { manifest: of, reference, relativeL2: {} });
}

describe("a wrong weight of a detector", () => {
	it.each([
		["boxes", 0.1, 0],
		["scores", 0, 2e-3],
	])("that moves %s within the limits is unnoticed, and noticed once they are tightened", (_, pixels, score) => {
		const loose = manifest(group);
		const finding = judge(run(pixels, score), loose);
		expect(finding).toMatchObject({ state: "unnoticed", boxes: { group: "found" } });
		expect(canBeNoticed(finding)).toBe(true);
		const [tight] = tightenDetections(loose.detections, [finding.boxes!]) ?? [];
		expect(judge(run(pixels, score), manifest(tight!)).state).toBe("noticed");
		expect(judge(run(0, 0), manifest(tight!)).state).not.toBe("noticed");
		expect(tightenOutputs(loose, [finding])).toEqual({});
		expect(describeTightened(loose, manifest(tight!)).map(({ sentence }) => sentence)).toContainEqual(
			expect.stringMatching(/^box-(iou|score) at fp32 is [\d.]+ instead of 0\.\d+, so that every weight change of 1 % is detected\.$/),
		);
	});

	it("is noticed after tightening for any movement beyond the noise", () => {
		fc.assert(
			fc.property(fc.double({ min: 1e-3, max: 0.3, noNaN: true }), fc.double({ min: 1e-4, max: 9e-3, noNaN: true }), (pixels, score) => {
				const loose = manifest(group);
				const finding = judge(run(pixels, score), loose);
				expect(finding.state).toBe("unnoticed");
				expect(judge(run(pixels, score), manifest(tightenDetections(loose.detections, [finding.boxes!])![0])).state).toBe("noticed");
			}),
		);
	});

	it("names limits of scores and overlaps that would notice it", () => {
		const finding = judge(run(0.1, 2e-3), manifest(group));
		const { fix } = describeUnnoticed(finding, manifest(group), 0.01);
		expect(fix).toMatch(
			/^Set `{ "kind": "box-score", "tolerance": { "fp32": 0\.001 } }` or `{ "kind": "box-iou", "tolerance": { "fp32": 0\.997\d* } }`/,
		);
	});

	it("that moves them no further than the noise may asks for other cases, and loosens nothing", () => {
		const finding = judge(run(0.1, 2e-3), manifest(group, 0.5));
		const change = { group: "found", score: 2e-3, scoreFloor: 0.5, lost: 0.005, lostFloor: 0.05 };
		expect(noticingBoxes(change)).toEqual({ score: null, iou: null });
		expect(describeUnnoticed({ ...finding, boxes: change }, manifest(group), 0.01).fix).toMatch(/^Add cases whose boxes/);
		expect(tightenDetections([group], [change])).toEqual([group]);
		expect(tightenDetections([group], [{ ...change, score: 0.5, scoreFloor: 0, lost: 0.9, lostFloor: 0 }])).toEqual([group]);
	});
});

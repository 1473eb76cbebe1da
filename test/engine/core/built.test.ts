import { describe, expect, it } from "vitest";
import { devicePairs, scoreOfPair } from "../../support/device-engines.ts";
import { diffOf, h200Engine } from "../../support/recorded-engines.ts";

const pairs = devicePairs();
const changes = pairs.filter(({ culprits }) => culprits.length > 0);
const named = (name: string) => pairs.find((pair) => pair.name === name)!;
const explained = (name: string) => {
	const { engines, enginesMs } = named(name);
	return diffOf(engines.base, engines.head, { enginesMs });
};

describe("built engines", () => {
	it("name each of 81 planted changes in the first three rows, and cover the timed change with their interval in all but two", () => {
		const scores = changes.map((pair) => ({ name: pair.name, ...scoreOfPair(pair) }));
		const failing = (what: "named" | "covered") =>
			scores.filter((score) => !score[what]).map(({ name }) => name);
		expect([scores.length, failing("named"), failing("covered")]).toEqual([
			81,
			[],
			["unet-deconv", "torch-vit-block"],
		]);
	});

	it.each(pairs.filter(({ kind }) => /^(rebuild|vanishes)/.test(kind)).map(({ name }) => name))(
		"%s claims nothing but other kernels",
		(name) => {
			const { rows, isSameTactics } = explained(name);
			expect(rows.filter(({ causes }) => causes.length === 0)).toEqual([]);
			expect(isSameTactics).toBe(!name.endsWith("-cold"));
		},
	);

	it.each(pairs.filter(({ kind }) => kind === "another exporter"))(
		"$name has at least 95 % of its nodes aligned",
		(pair) => {
			expect(scoreOfPair(pair).aligned).toBeGreaterThanOrEqual(0.95);
		},
	);

	it.each([
		["int8-no-weight-q", "these run unquantised: `/blocks.3/conv1/Conv + /blocks.3/act1/Relu`."],
		["int8-no-activation-q", "these run unquantised: `/blocks.1/conv1/Conv + /blocks.1/act1/Relu`."],
		[
			"half-cast",
			"in fp32 inside a half-precision engine only in the head: `/layer1/layer1.2/conv1_wide/Conv`.",
		],
		["res-consumer", "2 fusions skipped only in the head:"],
	])("%s is warned about", (name, text) => {
		expect(explained(name).warnings.join("\n")).toContain(text);
	});

	it.each([
		["unet-linear", "InterpolationMode NEAREST → LINEAR, CoordTransform kASYMMETRIC → kALIGN_CORNERS"],
		["res-split", "Activation RELU → GENERIC; new in the model: `/layer1/layer1.1/added/Softsign`"],
		[
			"enc-rms",
			"input shape changed: 1×512 → 2048×512; no longer in the model: `/layers.1/norm2/ReduceMean_1`, `/layers.1/norm2/Sub` and 1 more",
		],
	])("%s says what the model changed in the midst of a kernel", (name, cause) => {
		expect(explained(name).rows[0]?.causes[0]?.says).toBe(cause);
	});
});

/** PP-OCRv4 detection and a YOLOv8n. */
function explain(model: string, change: string) {
	const [base, head] = [h200Engine(`${model}-base`), h200Engine(`${model}-${change}`)];
	return diffOf(base, head, { gpu: "NVIDIA H200", enginesMs: { base: base.medianMs, head: head.medianMs } });
}

describe("engines of an H200", () => {
	it.each([
		["det", "block", /added\.0\.Conv/, "added", 0],
		["yolo", "block", /added\.0\.Conv/, "added", 0],
		["det", "consumer", /probe\.\d\.ReduceMean/, "added", 1],
		["yolo", "consumer", /probe\.\d\.ReduceMean/, "added", 1],
		["det", "island", /p2o\./, "precision", 1],
		["yolo", "island", /model\.4/, "precision", 1],
	] as const)(
		"%s with a planted %s: its cause comes first, and the account holds",
		(model, change, culprit, cause, warnings) => {
			const { rows, account, warnings: found } = explain(model, change);
			expect(rows[0]?.label).toMatch(culprit);
			expect(rows[0]?.causes[0]?.kind).toBe(cause);
			const { attributedMs, restMs, measuredMs } = account!;
			expect(attributedMs / measuredMs).toBeGreaterThan(0.75);
			expect(attributedMs / measuredMs).toBeLessThan(1.15);
			expect(attributedMs + restMs).toBeCloseTo(measuredMs, 9);
			expect(found).toHaveLength(warnings);
		},
	);

	it.each(["det", "yolo"])(
		"%s names the fusions that a second consumer broke, and who reads their tensors",
		(model) => {
			const { rows, warnings } = explain(model, "consumer");
			expect(warnings[0]).toMatch(/^3 fusions skipped only in the head/);
			const fusions = rows.flatMap(({ causes }) => causes.filter(({ kind }) => kind === "fusion"));
			expect(fusions.flatMap(({ evidence }) => evidence).join()).toMatch(
				/is now written to memory; [^,]*`probe\.\d\.ReduceMean` needs it too/,
			);
		},
	);

	it.each(["det", "yolo"])("%s built again has no cause", (model) => {
		const { isSameStructure, isSameTactics, rows } = explain(model, "rebuild");
		expect([isSameStructure, isSameTactics, rows.flatMap(({ causes }) => causes)]).toEqual([true, true, []]);
	});
});

import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenCase, GoldenManifest } from "../../generated/golden.ts";
import { fileStore } from "../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../src/adapters/files/tensor-reader.ts";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import { isSameCase, underLimitsOf } from "../../src/golden/core/manifest/draft.ts";
import { loadGoldens } from "../../src/golden/stages/load-goldens.ts";
import type { PreparedModel } from "../../src/stages/prepared.ts";
import { loaded, withModel } from "../core/config/load.ts";
import { float32, manifestOf, modelSha256 } from "../support/golden-tensors.ts";
import { inspectedOf, modelOf } from "../support/onnx-writer.ts";
import { folderWith, sha256 } from "../support/project.ts";

const y = float32([1, 2, 3, 4], [1, 4]);
const limit = (tolerance: number) => ({
	y: { comparators: [{ kind: "relative-l2" as const, tolerance }] as [never] },
});
const strict = manifestOf({ y }, limit(0.001));
const loose = manifestOf({ y }, limit(0.5));

it("underLimitsOf judges the head's cases by the base's comparators", () => {
	const cases: GoldenManifest["cases"] = [{ ...loose.cases[0], id: "new" }];
	const ruled = underLimitsOf(strict, { ...loose, goldenId: "net@2", cases });
	expect(ruled).toEqual({ ...strict, goldenId: "net@2", cases });
});

it("underLimitsOf lets no head drop the limits of an output, nor give limits to one that has the config's", () => {
	expect(underLimitsOf(strict, manifestOf({ y })).outputs).toEqual(strict.outputs);
	expect(underLimitsOf(manifestOf({ y }), loose).outputs).toEqual({});
});

it("underLimitsOf leaves an output its own limits if the base's golden lacks it", () => {
	const z = { comparators: [{ kind: "max-abs", tolerance: 1 }] as [never] };
	const both = manifestOf({ y, z: y }, { ...limit(0.5), z });
	expect(underLimitsOf(strict, both).outputs).toEqual({ ...strict.outputs, z: both.outputs["z"] });
	expect(underLimitsOf(both, strict).outputs).toEqual(limit(0.5));
	const outputs = Object.fromEntries([["__proto__", {}]]);
	const ruled = underLimitsOf(manifestOf({}), { ...manifestOf({}), outputs });
	expect(Object.keys(ruled.outputs)).toEqual(["__proto__"]);
});

it("underLimitsOf takes the policy of the base, so that a head that adds or drops one changes nothing", () => {
	const policy = { onModelChange: "fail" as const };
	const lax = { onModelChange: "compare" as const };
	for (const head of [loose, { ...loose, policy: lax }])
		expect(underLimitsOf({ ...strict, policy }, head).policy).toEqual(policy);
	expect(underLimitsOf(strict, { ...loose, policy }).policy).toBeUndefined();
});

it("underLimitsOf takes the base's noise floor for the same model only, since another model has its own", () => {
	const withNoise = (manifest: GoldenManifest, noise: number) => ({
		...manifest,
		noiseFloor: { y: noise } as never,
	});
	expect(underLimitsOf(withNoise(strict, 1e-6), withNoise(loose, 1)).noiseFloor).toEqual({ y: 1e-6 });
	expect(underLimitsOf(strict, withNoise(loose, 1)).noiseFloor).toBeUndefined();
	const other = { ...withNoise(loose, 1e-3), model: { path: "net.onnx", sha256: "c".repeat(64) } };
	expect(underLimitsOf(withNoise(strict, 1e-6), other).noiseFloor).toEqual({ y: 1e-3 });
});

it("underLimitsOf takes the base's detections, and the head's only of outputs that the base lacks", () => {
	type Groups = Pick<GoldenManifest, "detections">;
	const groups = (boxes: string, iou: number): Groups => ({
		detections: [{ name: boxes, boxes, format: "xyxy", iou }],
	});
	const expectOf = (base: Groups, head: Groups) =>
		expect(underLimitsOf({ ...strict, ...base }, { ...loose, ...head }).detections);
	const { detections } = groups("y", 0.5);
	for (const head of [groups("y", 0.1), {}]) expectOf(groups("y", 0.5), head).toEqual(detections);
	expectOf({}, groups("new", 0.1)).toEqual(groups("new", 0.1).detections);
	// Grouped outputs are compared box by box only, so a new group would lift the limits of an output.
	for (const head of [groups("y", 0.1), {}]) expectOf({}, head).toBeUndefined();
});

const [only] = strict.cases;
const tensor = { path: "y.raw", dtype: "float32" as const, shape: [1, 4] };
const file = (digit: string) => ({ ...tensor, sha256: digit.repeat(64) });
const golden: GoldenCase = { ...only, inputs: { a: file("1"), b: file("2") } };
const base: GoldenManifest = { ...strict, cases: [golden] };

it("isSameCase holds for the same bytes, whatever the files are called and in whichever order they stand", () => {
	const inputs = { b: file("2"), a: { ...file("1"), path: "moved.raw" } };
	expect(isSameCase({ ...golden, inputs }, base)).toBe(true);
	expect(isSameCase(golden, undefined)).toBe(false);
});

it.each<[string, GoldenCase]>([
	["another name", { ...golden, id: "other" }],
	["another input", { ...golden, inputs: { ...golden.inputs, a: file("3") } }],
	["inputs that are swapped", { ...golden, inputs: { a: file("2"), b: file("1") } }],
	["an input more", { ...golden, inputs: { ...golden.inputs, c: file("3") } }],
	["another output", { ...golden, outputs: { y: file("4") } }],
	[
		"another tensor of the same file",
		{ ...golden, outputs: { y: { ...only.outputs["y"], member: "z" } as never } },
	],
	["other labels", { ...golden, labels: { y: [1] } }],
])("isSameCase does not hold for %s", (_, own) => {
	expect(isSameCase(own, base)).toBe(false);
});

const ports = { files: fileStore(), tensors: fileTensorReader() };

function sideOf(arm: "base" | "head", golden: string | null): PreparedModel {
	const [spec] = engineSpecs(loaded(withModel(golden === null ? "workloads: []" : `golden: ${golden}`)));
	return { state: "ready", arm, spec: spec!, model: { ...inspectedOf(modelOf()), sha256: modelSha256 } };
}

async function load(base: string | null, files: Record<string, string>) {
	const root = folderWith({ ...files, "head/x.raw": y.data, "head/y.raw": y.data });
	const models = [sideOf("base", base), sideOf("head", "g.json")];
	const folders = { headFolder: join(root, "head"), baseFolder: join(root, "base"), limitsOfBase: true };
	const { sets, faults } = await loadGoldens({ models, changed: new Set(), ...folders }, ports);
	expect([...faults]).toEqual([]);
	return sets.get("net/fp32");
}

const fed = (manifest: GoldenManifest) => {
	const tensor = (path: string) => ({ path, sha256: sha256(y.data), dtype: "float32", shape: [1, 4] });
	const io = { inputs: { x: tensor("x.raw") }, outputs: { y: tensor("y.raw") } };
	return JSON.stringify({ ...manifest, cases: manifest.cases.map((golden) => ({ ...golden, ...io })) });
};

it("loadGoldens reads the head's cases with the limits of the base's own golden, wherever each side keeps it", async () => {
	const set = await load("old/g.json", { "base/old/g.json": fed(strict), "head/g.json": fed(loose) });
	expect(set?.manifest.outputs).toEqual(strict.outputs);
	expect(set?.asWritten?.outputs).toEqual(loose.outputs);
	expect(set?.ofBase?.outputs).toEqual(strict.outputs);
});

it.each<[string, string | null, Record<string, string>]>([
	["has none", null, {}],
	["lacks the file", "g.json", {}],
	["has one that cannot be read", "g.json", { "base/g.json": "{" }],
])("loadGoldens keeps the head's own limits if the base %s", async (_, base, files) => {
	const set = await load(base, { ...files, "base/net.onnx": "", "head/g.json": fed(loose) });
	expect(set?.manifest.outputs).toEqual(loose.outputs);
	expect(set).not.toHaveProperty("asWritten");
	expect(set).not.toHaveProperty("ofBase");
});

// The manifest of a release: what was judged, by hashes, and nothing of the base.
import { expect, it } from "vitest";
import { predicateType, renderManifest } from "../../../../src/core/report/exports/manifest.ts";
import { buildBuild, buildGate, buildGolden, buildResult } from "../../../support/build-result.ts";

it("a manifest names engines, models, recipes, goldens and what does not pass", () => {
	const built = {
		engineSha256: "e".repeat(64),
		modelSha256: "f".repeat(64),
		enginePath: "/runner/out/engines/head/a.engine",
	};
	const result = buildResult({
		outcome: "warn",
		builds: [
			buildBuild({ arm: "base" }),
			buildBuild({ ...built, recipe: { flags: "--fp16" } }),
			buildBuild({ engine: "int8", state: "refused" }),
		],
		golden: [buildGolden({ golden: "encoder@3", state: "match" })],
		gates: [buildGate(), buildGate({ gate: "latency", status: "warn" })],
	});
	const manifest = JSON.parse(renderManifest(result));
	expect(manifest).toMatchObject({
		predicateType,
		outcome: "warn",
		gates: { total: 2, notPassing: [{ gate: "latency", status: "warn" }] },
		commit: result.arms.head.commit,
		backend: { kind: "tensorrt", version: "10.6.0", device: "NVIDIA H200" },
		environment: result.environment,
	});
	expect(manifest.engines).toEqual([
		expect.objectContaining({
			...{
				file: "head/a.engine",
				engineSha256: built.engineSha256,
				onnxSha256: built.modelSha256,
				recipe: { flags: "--fp16" },
			},
			...{ goldens: ["encoder@3"], goldenCases: [{ case: "case0", state: "match" }], fromCache: false },
		}),
	]);
});

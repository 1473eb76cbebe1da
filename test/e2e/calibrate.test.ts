import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest, Tolerance } from "../../generated/golden.ts";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import {
	expectExit,
	quickConfig,
	quickProject,
	runCli,
	temporaryFolder,
	writeProject,
} from "../support/project.ts";
import { comparisonFiles, installReplay, type Replay } from "../support/replay/install.ts";

const write = ["golden", "calibrate", "--write", "--author", "Ann"];

const readGolden = (cwd: string): GoldenManifest =>
	parseManifest(readFileSync(join(cwd, "golden", "golden.json"), "utf8"), "golden.json");

function recorded(
	comparison: Replay["comparison"],
	edit: (golden: GoldenManifest) => GoldenManifest = (golden) => golden,
) {
	const cwd = temporaryFolder();
	const files = comparisonFiles(comparison, "head");
	const golden = JSON.stringify(edit(JSON.parse(String(files["golden/golden.json"]))));
	writeProject(cwd, { ...files, "golden/golden.json": golden });
	const env = { PATH: installReplay(cwd, { comparison }) };
	return { cwd, run: (...argv: string[]) => runCli(argv, { cwd, env }) };
}

const limited = (tolerance: Tolerance) => (golden: GoldenManifest) => ({
	...golden,
	outputs: { hidden: { comparators: [{ kind: "relative-l2", tolerance }] } } as GoldenManifest["outputs"],
});
const limitOf = ({ outputs }: GoldenManifest) => outputs["hidden"]?.comparators?.[0]?.tolerance;

it("golden calibrate prints the engine's own error beside its limit, and keeps a limit that fits", async () => {
	const { cwd, run } = recorded("same-model");
	const calibrated = await run("golden", "calibrate");
	expectExit(calibrated, 0);
	const { stdout } = calibrated;
	expect(stdout).toMatch(/^net\/fp16 at fp16, TensorRT 10\.6\.0 on NVIDIA H200, golden encoder@1$/m);
	expect(stdout).toContain(
		"hidden, relative L2 at fp16: keeps 5e-3, fits: its own error takes 25 % of the limit (1.2e-3 in case-1)",
	);
	expect(readGolden(cwd)).not.toHaveProperty("calibration");
});

it("golden calibrate raises a limit that is too tight, and keeps the evidence", async () => {
	const { cwd, run } = recorded("same-model", limited(2e-3));
	const raised = await run(...write, "--reason", "New GPU.");
	expectExit(raised, 0);
	expect(raised.stdout).toContain("2e-3 → 5e-3, too tight: its own error takes 61 % of the limit");
	const golden = readGolden(cwd);
	expect(golden).toMatchObject({ goldenId: "encoder@2", author: "Ann", reason: "New GPU." });
	expect(limitOf(golden)).toMatchObject({ fp32: 2e-3, fp16: 5e-3, int8: 2e-3 });
	expect(golden.calibration).toMatchObject([
		{
			...{ engine: "net/fp16", precision: "fp16", backend: "tensorrt" },
			...{ version: "10.6.0", device: "NVIDIA H200" },
			limits: [
				{ output: "hidden", comparator: 0, kind: "relative-l2", case: "case-1", before: 2e-3, limit: 5e-3 },
			],
		},
	]);
	expect(golden.calibration?.[0]?.limits[0]?.error).toBeCloseTo(1.23e-3, 5);

	expect((await run(...write)).stdout).toContain("hidden, relative L2 at fp16: keeps 5e-3");
	const confirmed = readGolden(cwd);
	expect(confirmed.calibration).toMatchObject([{ limits: [{ limit: 5e-3 }] }]);
	expect((await run(...write)).stdout).toContain("Nothing was written: ");
	expect(readGolden(cwd)).toEqual(confirmed);
});

it("golden calibrate lowers a limit that is far above the error, by the requested multiple", async () => {
	const { cwd, run } = recorded("same-model", limited({ fp16: 0.1 }));
	const { stdout } = await run(...write, "--multiple", "3");
	expect(stdout).toContain("0.1 → 3.7e-3, too loose: the limit is 82× its own error");
	expect(limitOf(readGolden(cwd))).toEqual({ fp16: 3.7e-3 });
});

it("golden calibrate refuses the error of a wrong engine, and takes a limit that the user gives", async () => {
	const { cwd, run } = recorded("wrong-head");
	const refused = await run(...write);
	expect(refused.exit).toBe(1);
	expect(refused.stdout).toMatch(
		/logits_out, relative L2 at fp32: REFUSED, an error of 3\.3e-2 at fp32 says that the engine is wrong/,
	);
	expect(refused.stdout).toContain("Nothing was written: ");
	expect(readGolden(cwd).goldenId).toBe("segmenter@1");
	const mistyped = await run(...write, "--limit", "logits=5e-2");
	expectExit(mistyped, 2);
	expect(mistyped.stderr).toMatch(/no calibrated output "logits" has .*one of: "logits_out"/s);
	expect(readGolden(cwd).goldenId).toBe("segmenter@1");
	const given = await run(...write, "--limit", "logits_out=5e-2");
	expect(given.stdout).toContain("1e-3 → 5e-2, set by --limit; the engine's own error is 3.3e-2");
	expect(readGolden(cwd).outputs["logits_out"]?.comparators?.[0]?.tolerance).toMatchObject({ fp32: 5e-2 });
});

it("golden calibrate is labelled on a CPU, which shows nothing of fp16 and never lowers a limit", async () => {
	const cwd = temporaryFolder();
	const engines = "    engines: { fp32: { precision: fp32 }, fp16: { precision: fp16 } }\n";
	quickProject(cwd, { "trtgate.yml": quickConfig.replace("    golden:", `${engines}    golden:`) });
	const run = await runCli(["golden", "calibrate", "--json"], { cwd });
	expectExit(run, 0);
	const { backend, engines: found } = JSON.parse(run.stdout);
	expect(backend).toMatchObject({ kind: "onnxruntime", caveat: "CPU, not TensorRT" });
	expect(found).toMatchObject([
		{
			engine: "net/fp32",
			limits: [
				{ state: "kept", why: expect.stringContaining("only TensorRT shows whether it may be lower") },
			],
		},
		{
			engine: "net/fp16",
			limits: [{ state: "kept", why: "ONNX Runtime computes in fp32 here, which says nothing of fp16" }],
		},
	]);
});

it("golden calibrate says what it cannot calibrate, and what it does not understand", async () => {
	const cwd = quickProject(temporaryFolder(), { "golden/x0.npy": "no tensor" });
	const broken = await runCli(write, { cwd });
	expect(broken).toMatchObject({
		exit: 1,
		stdout: expect.stringMatching(/not calibrated: whole set: .*x0\.npy/),
	});
	expect(readGolden(cwd).goldenId).toBe("net@1");
	const usage = async (...argv: string[]) => (await runCli(["golden", "calibrate", ...argv], { cwd })).stderr;
	expect(await usage("--multiple", "0.5")).toMatch(/--multiple is "0.5"; expected a number from 1 to 1000/);
	expect(await usage("--limit", "y")).toMatch(/--limit is "y"; expected OUTPUT=VALUE/);
});

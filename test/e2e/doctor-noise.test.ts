// `trtgate doctor --noise` through the built bundle, on the recorded runs of one engine against itself on an H200.
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay, type Replay } from "../support/replay/install.ts";

async function doctorNoise(replay: Partial<Replay>, argv: readonly string[] = []) {
	const folder = temporaryFolder();
	const { "model.onnx": model = "" } = comparisonFiles("same-model", "base");
	writeProject(folder, { "model.onnx": model });
	const env = {
		PATH: installReplay(folder, { comparison: "same-model", ...replay }),
		XDG_CACHE_HOME: join(folder, "cache"),
	};
	return runCli(["doctor", "--noise", "--quiet", "--model", "model.onnx", ...argv], { cwd: folder, env });
}

it("doctor --noise says which change the recorded runner resolves in five pairs, and what limited its clock", async () => {
	const run = await doctorNoise({});
	expectExit(run, 0);
	expect(run.stdout).toMatch(
		/^✓ noise: this runner resolves ± 0\.[2-6] % in 5 pairs; one engine against itself: [^(]* \(−0\.\d % to \+0\.\d %\)\n✓ clocks: \d+ MHz in all runs\n– throttling: the clock was limited by sw-power-cap, .*\n {2}→ Lock a lower clock/,
	);
});

it("doctor --noise names a neighbour on the GPU, and says as JSON what to do", async () => {
	// Long enough for the list of processes to be read during each run.
	const replay = { smi: "steady=yes apps=h200-neighbour-apps.csv", scale: 0.2 };
	const run = await doctorNoise(replay, ["--json"]);
	expectExit(run, 0);
	const { checks } = expectSchema(JSON.parse(run.stdout) as { checks: Record<string, unknown>[] }, "doctor");
	expect(checks[0]).toMatchObject({ name: "noise", status: expect.any(String) });
	const disturbed = checks.find(({ status }) => /another process used the GPU/.test(String(status)));
	expect(disturbed, run.stdout).toMatchObject({ ok: false });
});

it("doctor --noise without a GPU times nothing, because counts are exact", async () => {
	const run = await runCli(["doctor", "--noise"], {
		cwd: temporaryFolder(),
		env: { PATH: "/usr/bin:/bin" },
	});
	expectExit(run, 0);
	expect(run.stdout).toBe(
		"✓ noise: nothing to time: without TensorRT and a GPU, work is counted. Counts are exact on every machine, so noise does not matter here\n",
	);
	const alone = await runCli(["doctor", "--model", "x.onnx"], { cwd: temporaryFolder() });
	expect(alone).toMatchObject({ exit: 2, stderr: expect.stringContaining("--model needs --noise.") });
});

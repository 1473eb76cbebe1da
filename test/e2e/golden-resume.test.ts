// A recording that waits: usable once there are outputs, and the same command goes on after the time limit, Ctrl-C or kill -9.
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { GoldenManifest } from "../../src/core/schema/golden.ts";
import { runCli, temporaryFolder } from "../support/project.ts";
import { until } from "../support/until.ts";

const segmenter = resolve("examples/quickstart/base/models/segmenter.onnx");
const command = ["golden", "record", segmenter, "--out", "golden", "--cases", "2", "--author", "Ann"];

function read(cwd: string): GoldenManifest | null {
	const path = join(cwd, "golden/golden.json");
	return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
}

async function goesOn(cwd: string): Promise<void> {
	const before = read(cwd);
	const tensor = join(cwd, "golden", before?.cases[0]?.outputs["logits"]?.path ?? "");
	const written = statSync(tensor).mtimeMs;
	const check = await runCli(["golden", "check", "golden/golden.json", "--outputs", "golden/r1"], { cwd });
	expect(check, check.stderr).toMatchObject({
		exit: 0,
		stderr: expect.stringMatching(/note: Golden golden@1 was not tested to the end.*Run `trtgate golden record/),
	});
	const run = await runCli([...command, "--time-limit", "10m", "--quiet"], { cwd });
	expect(run, run.stderr).toMatchObject({
		exit: 0,
		stdout: expect.stringMatching(/Recorded golden@1[\s\S]*It notices all defects that move an output beyond its rounding: \d+ at fp32/),
		stderr: expect.stringContaining("The recording of golden@1 goes on where it stopped."),
	});
	expect(read(cwd)).toMatchObject({ goldenId: "golden@1", sensitivity: { state: "complete" } });
	expect(statSync(tensor).mtimeMs).toBe(written);
}

describe("golden record", () => {
	it("writes a usable golden when its time is over, and goes on with the same command", async () => {
		const cwd = temporaryFolder();
		const run = await runCli([...command, "--time-limit", "10ms"], { cwd });
		expect(run, run.stderr).toMatchObject({
			exit: 0,
			stderr: expect.stringMatching(/0 of \d+ defects were tried\. The same command tries more/),
		});
		expect(read(cwd)?.sensitivity).toMatchObject({ state: "untested", tested: 0 });
		await goesOn(cwd);
	});

	it.each(["SIGINT", "SIGKILL"] as const)("leaves a usable golden after %s, and goes on with the same command", async (signal) => {
		const cwd = temporaryFolder();
		let pid = 0;
		const running = runCli(command, { cwd, onStart: (started) => (pid = started) });
		await until(() => read(cwd) !== null);
		process.kill(pid, signal);
		const run = await running;
		if (signal === "SIGINT") expect(run).toMatchObject({ exit: 3, stderr: expect.stringContaining("the same command goes on") });
		expect(read(cwd)?.sensitivity?.state).toMatch(/untested|unfinished/);
		await goesOn(cwd);
	});
});

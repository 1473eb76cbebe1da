// An upgrade of TensorRT through the built bundle: one model on 10.6, 10.15 and 11.2 by replay, and the merged report that decides.
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runCli, temporaryFolder } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";
import type { ReplayFault } from "../support/replay/install.ts";

const untimed = [["workloads: [{ batch: 4, sequence: 64 }]", "workloads: []"]] as const;

it("a merged report of three versions says which upgrade to hold back, and why", async () => {
	const cwd = temporaryFolder();
	const build = (recording: string): ReplayFault[] => [{ step: "build", do: "recording", recording }];
	const runs = {
		today: { comparison: "same-model" },
		next: { comparison: "same-model", version: "101501", faults: build("10.15/fail-bad-unsupported-op") },
		major: { comparison: "same-model", version: "110201" },
	} as const;
	for (const [name, replay] of Object.entries(runs)) {
		const { folder } = await gateReplay(replay, { config: untimed });
		cpSync(join(folder, "out"), join(cwd, "parts", name), { recursive: true });
	}
	const { stdout } = await runCli(["report", "parts", "--merge", "--out", "all"], { cwd });
	const markdown = readFileSync(join(cwd, "all/report.md"), "utf8");
	const html = readFileSync(join(cwd, "all/report.html"), "utf8");
	for (const text of [stdout, markdown, html]) {
		expect(text).toMatch(/Upgrade: TensorRT 10\.6\.0 → 10\.15\.1/);
		expect(text).toMatch(/Upgrade: TensorRT 10\.6\.0 → 11\.2\.1/);
		expect(text).toContain("Do not upgrade yet: 1 engine that no longer builds");
	}
	expect(stdout).toMatch(/net\/fp16 no longer builds: .*no precision flags/);
	expect(stdout).toContain("1 plan must be built again");
});

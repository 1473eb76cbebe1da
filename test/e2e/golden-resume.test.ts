import { cpSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../generated/golden.ts";
import {
	expectExit,
	expectRefusal,
	readResult,
	runCli,
	temporaryFolder,
	untimed,
	writeProject,
} from "../support/project.ts";

const segmenter = resolve("examples/quickstart/base/models/segmenter.onnx");
const command = `golden record ${segmenter} --out golden --cases 2 --author Ann`.split(" ");

function read(cwd: string): GoldenManifest | null {
	const path = join(cwd, "golden/golden.json");
	return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null;
}

it("golden record writes a usable golden when its time is over, and the same command goes on, after Ctrl-C and kill -9 as well, and with whatever is left out", async () => {
	const cwd = temporaryFolder();
	const first = await runCli([...command, "--time-limit", "10ms"], { cwd });
	expectExit(first, 0);
	expect(first.stderr).toMatch(/\d of \d+ defects were tried\. The same command tries more/);
	expect(read(cwd)?.sensitivity?.state).toMatch(/untested|unfinished/);
	const tensor = join(cwd, "golden", read(cwd)?.cases[0]?.outputs["logits"]?.path ?? "");
	const written = statSync(tensor).mtimeMs;

	for (const signal of ["SIGINT", "SIGKILL"] as const) {
		let [pid, stderr] = [0, ""];
		const stopped = await runCli([...command, "--time-limit", "10m"], {
			cwd,
			onStart: (started) => (pid = started),
			onStderr: (text) => {
				const [before, after] = [stderr, stderr + text];
				stderr = after;
				const begun = /continues where it stopped/;
				if (begun.test(after) && !begun.test(before)) process.kill(pid, signal);
			},
		});
		if (signal === "SIGINT") expectRefusal(stopped, "rerun the same command", 3);
		else expect(stopped.signal).toBe("SIGKILL");
		expect(read(cwd)?.sensitivity?.state).toMatch(/untested|unfinished/);
		const check = await runCli(["golden", "check", "golden/golden.json", "--outputs", "golden/r1"], { cwd });
		expectExit(check, 0);
		expect(check.stderr).toMatch(
			/note: Golden golden@1 was not tested completely.*Rerun `trtgate golden record/,
		);
	}

	const last = await runCli([...command, "--time-limit", "10m", "--quiet"], { cwd });
	expectExit(last, 0);
	expect(last.stdout).toMatch(
		/Recorded golden@1[\s\S]*notices (\d+) of \1 defects that move an output beyond rounding at fp32/,
	);
	expect(last.stderr).toContain("The recording of golden@1 continues where it stopped.");
	expect(read(cwd)).toMatchObject({ goldenId: "golden@1", sensitivity: { state: "complete" } });
	expect(statSync(tensor).mtimeMs).toBe(written);

	// What a run's time left out is measured again, the limits are proposed again, and the golden keeps its name.
	const whole = read(cwd);
	const { rounding: _, ...left } = whole ?? ({} as GoldenManifest);
	const outputs = { logits: { comparators: [{ kind: "relative-l2", tolerance: { fp32: 0.03 } }] } };
	const unfinished = ["rounding at fp16: 2 of 2 cases"];
	const sensitivity = { ...left.sensitivity, state: "unfinished" };
	writeFileSync(
		join(cwd, "golden/golden.json"),
		JSON.stringify({ ...left, outputs, unfinished, sensitivity }),
	);
	const again = await runCli([...command, "--time-limit", "10m", "--quiet"], { cwd });
	expectExit(again, 0);
	expect(again.stderr).toContain("The recording of golden@1 continues where it stopped.");
	const { cases, producer, ...found } = read(cwd) ?? ({} as GoldenManifest);
	const { cases: before, producer: __, ...expected } = whole ?? ({} as GoldenManifest);
	expect([found, cases.length]).toEqual([expected, before.length]);
	for (const { outputs: files } of cases)
		for (const { path: file } of Object.values(files))
			expect(existsSync(join(cwd, "golden", file))).toBe(true);
	expect(existsSync(join(cwd, "golden/r1"))).toBe(false);
	expect(producer.command).toContain("golden record");
});

it("golden record after init needs no folder, takes one sample a case and one more at the timed batch, names the golden in the config, and a run warns until it is tested", async () => {
	const cwd = temporaryFolder();
	cpSync(resolve("examples/quickstart/base/models/classifier.onnx"), join(cwd, "net.onnx"));
	await runCli(["init", "net.onnx", "--quiet"], { cwd });
	const argv = ["golden", "record", "--model", "net", "--cases", "2", "--time-limit", "10ms", "--quiet"];
	const recorded = await runCli(argv, { cwd });
	expectExit(recorded, 0);
	expect(recorded.stdout).toContain("Added it to trtgate.yml.");
	const path = join(cwd, "trtgate.yml");
	const config = readFileSync(path, "utf8");
	expect(config).toContain("\n    golden: golden/net/golden.json\n");
	expect(config).toMatch(/batch: \{ min: 1, opt: 8,/);
	const { cases } = JSON.parse(readFileSync(join(cwd, "golden/net/golden.json"), "utf8")) as GoldenManifest;
	expect(cases.map(({ inputs }) => Object.values(inputs)[0]?.shape[0])).toEqual([1, 1, 8]);
	writeFileSync(path, untimed(config.replace("    onnx:", "    golden-notice: { fp32: 0.5 }\n    onnx:")));
	await runCli(["run", "--backend", "onnxruntime", "--out", "out"], { cwd });
	const { gates } = readResult(join(cwd, "out"));
	expect(gates.filter(({ status, gate }) => gate === "golden" && status === "warn")).toEqual([
		expect.objectContaining({
			model: "net",
			message: expect.stringContaining("it is unknown which defects it notices"),
		}),
	]);
	const again = await runCli([...argv, "--reason", "none", "--author", "Ann"], { cwd });
	expectExit(again, 0);
	expect(again.stdout).not.toContain("Added it to");
});

it("golden record names a golden that is recorded already in the config that init wrote", async () => {
	const cwd = writeProject(temporaryFolder(), {
		"net.onnx": "fixture:model.onnx",
		"golden/net": "fixture:golden",
	});
	await runCli(["init", "net.onnx", "--quiet"], { cwd });
	const recorded = await runCli(["golden", "record", "--quiet"], { cwd });
	expectExit(recorded, 0);
	expect(recorded.stdout).toMatch(
		/Added it to trtgate\.yml\.\n1 of 1 model has a golden:\n.*is recorded already/,
	);
	expect(readFileSync(join(cwd, "trtgate.yml"), "utf8")).toContain("\n    golden: golden/net/golden.json\n");
});

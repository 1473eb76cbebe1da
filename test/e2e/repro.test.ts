import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { GoldenManifest } from "../../generated/golden.ts";
import { cutAt } from "../../src/core/onnx/walk.ts";
import { memorySource } from "../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../src/formats/onnx/reader.ts";
import { rewriteOnnx } from "../../src/formats/onnx/write.ts";
import { encodeNpy } from "../../src/formats/tensor/npy.ts";
import {
	expectExit,
	expectRefusal,
	fixtures,
	gateFolders,
	quickProject,
	readResult,
	runCli,
	sha256,
	temporaryFolder,
	untimed,
} from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";
import { installReplay, type ReplayFault } from "../support/replay/install.ts";

/** A run with a planted defect, its failure packed and moved to another machine's folder. */
async function packedDefect(): Promise<string> {
	const files = { "model.onnx": "fixture:wrong.onnx", "trtgate.yml": untimed() };
	const cwd = quickProject(temporaryFolder(), files);
	expectExit(await runCli(["run", "--out", "out"], { cwd }), 1);
	const packed = await runCli(["repro", "out", "--case", "case-1"], { cwd });
	expectExit(packed, 0);
	expect(packed.stderr).toMatch(/^Writes \d+ B to /);
	const elsewhere = temporaryFolder();
	renameSync(join(cwd, "trtgate-repro"), join(elsewhere, "folder"));
	for (const name of readdirSync(join(elsewhere, "folder")))
		expect(readFileSync(join(elsewhere, "folder", name), "latin1"), name).not.toContain(cwd);
	return elsewhere;
}

const replay = (cwd: string) => runCli(["repro", "folder", "--quiet"], { cwd });

it("a planted defect is reproduced from the moved folder every time, and not with the good model", async () => {
	const cwd = await packedDefect();
	const files = ["README.md", "golden.json", "model.onnx", "repro.json", "result.json", "x1.npy", "y1.npy"];
	expect(readdirSync(join(cwd, "folder")).sort()).toEqual(files);
	expect(readFileSync(join(cwd, "folder/README.md"), "utf8")).toContain(
		"y: relative-l2 (at-most 1e-3): recorded 5e-2",
	);
	for (let round = 0; round < 3; round += 1) {
		const run = await replay(cwd);
		expectExit(run, 0);
		expect(run.stdout).toMatch(
			/^reproduced: net\/fp32\/case-1\n {2}✗ y: relative-l2 .*: recorded 5e-2, now 5e-2\n/,
		);
	}
	cpSync(join(fixtures, "model.onnx"), join(cwd, "folder/model.onnx"));
	const run = await replay(cwd);
	expectExit(run, 1);
	expect(run.stdout).toMatch(
		/^not reproduced: .*\n {2}✓ y: relative-l2 .*: recorded 5e-2, now \d(\.\d)?e-[78]\n/,
	);
});

it("nothing is built if a stranger's folder asks for programs, files outside or git", async () => {
	const cwd = await packedDefect();
	const path = join(cwd, "folder/repro.json");
	const text = readFileSync(path, "utf8");
	const precision = '"precision": "fp32"';
	for (const [from, to] of [
		[precision, `${precision}, "plugins": ["evil.so"]`],
		[precision, `${precision}, "flags": ["--leanDLLPath=evil.so"]`],
		[precision, `${precision}, "calibration": "/etc/passwd"`],
		['"onnx": "model.onnx"', '"onnx": "../model.onnx"'],
		['"onnx": "model.onnx"', '"onnx": "model.onnx", "prepare": "touch evil"'],
		['"probes": "off"', '"probes": "off", "comparators": { "mine": { "command": ["evil"] } }'],
		['"probes": "off"', '"probes": "off", "base": { "trtexec": "./evil" }'],
	] as const) {
		expect(text).toContain(from);
		writeFileSync(path, text.replace(from, to));
		expectRefusal(await replay(cwd), /folder\/repro\.json.*\[result-invalid\]/);
	}
	writeFileSync(path, text);
	mkdirSync(join(cwd, "folder/.git"));
	expectRefusal(await replay(cwd), "is a git repository");
});

it("files that are not the run's, a folder that exists and a run without failures are refused", async () => {
	const cwd = quickProject(temporaryFolder(), {
		"model.onnx": "fixture:wrong.onnx",
		"trtgate.yml": untimed(),
	});
	const pack = (...argv: string[]) => runCli(["repro", "out", ...argv], { cwd });
	await runCli(["run", "--out", "out"], { cwd });
	expectRefusal(await pack("--case", "case-7"), /called "case-7".*\n.*net\/fp32\/case-0, net\/fp32\/case-1/);
	expectRefusal(await pack("--out", "golden"), "golden exists");
	renameSync(join(cwd, "trtgate.yml"), join(cwd, "other.yml"));
	expectRefusal(await pack(), /trtgate\.yml is missing.*\n.*Run this where the run was/);
	renameSync(join(cwd, "other.yml"), join(cwd, "trtgate.yml"));
	cpSync(join(fixtures, "model.onnx"), join(cwd, "model.onnx"));
	expectRefusal(await pack(), "model.onnx is not that of the run");
	await runCli(["run", "--out", "out"], { cwd });
	expectRefusal(await pack(), "Nothing that can be packed failed");
});

it("a replay whose folder lacks a file says so", async () => {
	const cwd = await packedDefect();
	rmSync(join(cwd, "folder/x1.npy"));
	const run = await replay(cwd);
	expectExit(run, 1);
	expect(run.stdout).toMatch(
		/^not reproduced: .*\n.*\n {2}now: There is no tensor file at .*x1\.npy.*\[golden-missing\]/,
	);
});

it("a build that trtexec refuses is packed with its command, and replayed with and without the refusal", async () => {
	const fault: ReplayFault = {
		step: "build",
		arm: "head",
		do: "recording",
		recording: "10.6/fail-bad-unsupported-op",
	};
	const comparison = "slower-head";
	const { folder } = await gateReplay({ comparison, faults: [fault] });
	expectExit(await runCli(["repro", "out"], { cwd: folder }), 0);
	const readme = readFileSync(join(folder, "trtgate-repro/README.md"), "utf8");
	expect(readme).toMatch(/\[`operator-unsupported`\]/);
	expect(readme).toMatch(/^trtexec --onnx=model\.onnx --saveEngine=engine\.plan .*--minShapes=/m);
	expect(readme).not.toContain(folder);
	const replayWith = (faults: ReplayFault[]) => {
		const env = { PATH: installReplay(temporaryFolder(), { comparison, faults }) };
		return runCli(["repro", "trtgate-repro", "--quiet"], { cwd: folder, env });
	};
	const again = await replayWith([fault]);
	expectExit(again, 0);
	expect(again.stdout).toMatch(
		/^reproduced: net\/fp16\n {2}recorded: .*\[operator-unsupported\]\n {2}now: .*\[operator-unsupported\]/,
	);
	const other = await replayWith([{ ...fault, recording: "10.6/fail-no-gpu" }]);
	expect(other.stdout).toMatch(/^not reproduced: .*\n.*\n {2}now: .*\[no-gpu\]/);
	expectExit(other, 3);
	const built = await replayWith([]);
	expectExit(built, 1);
	expect(built.stdout).toContain("now: no such failure");
});

it("of a merged result, the job whose build failed is packed, with its version", async () => {
	const comparison = "slower-head";
	const recording = "10.15/fail-bad-unsupported-op";
	const faults: ReplayFault[] = [{ step: "build", do: "recording", recording }];
	const today = await gateReplay({ comparison });
	const { folder } = await gateReplay({ comparison, version: "101501", faults });
	const runs = [join(today.folder, "out"), join(folder, "out")];
	for (const [name, run] of Object.entries(runs))
		cpSync(run, join(folder, "parts", `run-${name}`), { recursive: true });
	expectExit(await runCli(["report", "parts", "--merge", "--out", "all"], { cwd: folder }), 1);
	expectExit(await runCli(["repro", "all"], { cwd: folder }), 0);
	const readme = readFileSync(join(folder, "trtgate-repro/README.md"), "utf8");
	expect(readme).toMatch(/^# `net\/fp16` fails on TensorRT 10\.15\.1\n/);
	expect(readme).toMatch(/^trtexec --onnx=model\.onnx /m);
	expect(readme).not.toContain("10.6.0");
});

const readModel = (path: string) => readOnnx(memorySource(readFileSync(path)), path);

/** The quickstart's segmenter, whose weights change in one convolution, with the search for it. */
async function searchedRun(): Promise<string> {
	const cwd = temporaryFolder();
	for (const arm of ["base", "head"]) {
		cpSync(join("examples/quickstart", arm), join(cwd, arm), { recursive: true });
		const path = join(cwd, arm, "trtgate.yml");
		const timed = "    workloads: [{ name: one picture }]\n    golden: golden/seg";
		const text = readFileSync(path, "utf8").replace(timed, "    workloads: []\n    golden: golden/seg");
		writeFileSync(path, `${text}\nexplain: { bisect: on }\n`);
	}
	await gateFolders(cwd, { argv: ["--only", "segmenter"] });
	return cwd;
}

it("the part up to the node that bisection found is reproduced, and not with the good model's part; the whole model is packed with --whole, or without the base's", async () => {
	const cwd = await searchedRun();
	const packed = await runCli(["repro", "out", "--head", "head", "--base", "base"], { cwd });
	expectExit(packed, 0);
	expect(packed.stdout).toContain("segmenter/fp32/scene-1, 3 of 10 nodes, up to `/smooth/Conv_output`\n");
	const folder = join(cwd, "folder");
	renameSync(join(cwd, "trtgate-repro"), folder);
	const { graph } = readModel(join(folder, "segmenter.onnx"));
	expect(graph.nodes).toHaveLength(3);
	const name = "/smooth/Conv_output";
	expect(graph.outputs).toEqual([{ name, kind: "tensor", dtype: "float", dims: [null, null, null, null] }]);
	const golden: GoldenManifest = JSON.parse(readFileSync(join(folder, "golden.json"), "utf8"));
	const { allowed } = (readResult(join(cwd, "out")).bisections ?? [])[0] ?? {};
	expect(golden.outputs[name]?.comparators).toEqual([{ kind: "relative-l2", tolerance: allowed }]);
	expect(readFileSync(join(folder, "README.md"), "utf8")).toContain("3 of 10 nodes");
	const again = await replay(cwd);
	expectExit(again, 0);
	expect(again.stdout).toMatch(
		/^reproduced: segmenter\/fp32\/scene-1\n {2}✗ \/smooth\/Conv_output: relative-l2 /,
	);
	const good = new Uint8Array(readFileSync(join(cwd, "base/models/segmenter.onnx")));
	const part = cutAt(readModel(join(cwd, "base/models/segmenter.onnx")), { name, dtype: "float" });
	writeFileSync(join(folder, "segmenter.onnx"), rewriteOnnx(good, part));
	const right = await replay(cwd);
	expectExit(right, 1);
	expect(right.stdout).toMatch(/^not reproduced: .*\n {2}✓ \/smooth\/Conv_output: relative-l2 .*, now 0\n/);

	const pack = (...argv: string[]) => runCli(["repro", "out", "--head", "head", ...argv], { cwd });
	expectRefusal(await pack("--base", "head"), "segmenter.onnx is not that of the run");
	const without = await pack("--out", "a");
	expectExit(without, 0);
	expect(without.stderr).toMatch(/^Packs the whole model: .*--base/);
	const whole = await pack("--out", "b", "--whole", "--base", "base");
	expectExit(whole, 0);
	expect(whole.stderr).toMatch(/^Writes /);
	const model = readFileSync(join(cwd, "head/models/segmenter.onnx"));
	for (const folder of ["a", "b"])
		expect(readFileSync(join(cwd, folder, "segmenter.onnx")).equals(model), folder).toBe(true);
});

/** As the recorder stores them. */
function storeAsNpy(folder: string): void {
	const path = join(folder, "golden/golden.json");
	const manifest: GoldenManifest = JSON.parse(readFileSync(path, "utf8"));
	for (const { inputs, outputs } of manifest.cases)
		for (const file of [inputs, outputs].flatMap((side) => Object.values(side))) {
			const data = readFileSync(join(folder, "golden", file.path));
			const bytes = encodeNpy({ dtype: file.dtype, shape: file.shape, data });
			file.path = file.path.replace(/bin$/, "npy");
			file.sha256 = sha256(bytes);
			writeFileSync(join(folder, "golden", file.path), bytes);
		}
	writeFileSync(path, JSON.stringify(manifest));
}

it("wrong outputs on TensorRT are reproduced with trtexec's numbers, and its commands are written", async () => {
	const given = (folder: string) => ["base", "head"].map((arm) => storeAsNpy(join(folder, arm)));
	const { folder } = await gateReplay({ comparison: "wrong-head" }, { given });
	expectExit(await runCli(["repro", "out"], { cwd: folder }), 0);
	const readme = readFileSync(join(folder, "trtgate-repro/README.md"), "utf8");
	expect(readme).toMatch(
		/\ntrtexec --onnx=model\.onnx .*\npython3 -c '.*' (\S+)\.npy\ntrtexec --loadEngine=engine\.plan .*--loadInputs=\w+:\1\.bin /,
	);
	const env = { PATH: installReplay(temporaryFolder(), { comparison: "wrong-head" }) };
	const run = await runCli(["repro", "trtgate-repro", "--quiet"], { cwd: folder, env });
	expectExit(run, 0);
	expect(run.stdout).toMatch(
		/^reproduced: net\/fp32\/.*\n {2}✗ \w+: relative-l2 .*: recorded 3\.3e-2, now 3\.3e-2\n/,
	);
	expect(run.stdout).toContain("on TensorRT 10.6.0");
});

it("an engine with a file for each TensorRT is packed with the one that ran", async () => {
	const comparison = "wrong-head";
	const given = (folder: string) => {
		for (const arm of ["base", "head"]) {
			renameSync(join(folder, arm, "model.onnx"), join(folder, arm, "typed.onnx"));
			writeFileSync(join(folder, arm, "plain.onnx"), readFileSync(join(fixtures, "model.onnx")));
		}
	};
	const files = 'precision: fp32, onnx: { "<11": typed.onnx, "11": plain.onnx }';
	const config = [
		["onnx: model.onnx", "onnx: plain.onnx"],
		["precision: fp32", files],
	] as const;
	const { folder } = await gateReplay({ comparison }, { config, given });
	expectExit(await runCli(["repro", "out"], { cwd: folder }), 0);
	const env = { PATH: installReplay(temporaryFolder(), { comparison }) };
	const run = await runCli(["repro", "trtgate-repro", "--quiet"], { cwd: folder, env });
	expectExit(run, 0);
	expect(run.stdout).toMatch(/^reproduced: net\/fp32\//);
});

it("of a plan of `build` the model is packed, README.md says so, and without a model it is refused", async () => {
	const command = "trtexec --onnx=model.onnx --saveEngine=net.plan >/dev/null";
	const own = `precision: fp32, build: { command: "${command}", plan: net.plan }`;
	const pack = async (onnx: string) => {
		const config = [["precision: fp32", own] as const, ["onnx: model.onnx", onnx] as const];
		const { folder } = await gateReplay({ comparison: "wrong-head" }, { config });
		return { folder, run: await runCli(["repro", "out"], { cwd: folder }) };
	};
	const { folder, run } = await pack("onnx: model.onnx");
	expectExit(run, 0);
	const readme = readFileSync(join(folder, "trtgate-repro/README.md"), "utf8");
	expect(readme).toContain("a plan of `build`, which is not in the folder");
	const bare = await pack("inputs: { image: { shape: [1, 3, 64, 64] } }");
	expectExit(bare.run, 2);
	expect(bare.run.stderr).toContain("net/fp32 has no ONNX file to pack");
});

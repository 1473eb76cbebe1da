import { join } from "node:path";
import { expect, it } from "vitest";
import {
	expectExit,
	expectRefusal,
	quickConfig,
	quickProject,
	readResult,
	runCli,
	temporaryFolder,
} from "../support/project.ts";
import { gateReplay, startReplay } from "../support/replay/gate.ts";
import { installReplay, type Replay } from "../support/replay/install.ts";

const fast = [["pairs: [5, 8]", "pairs: [5]"]] as const;

async function auto(replay: Partial<Replay>) {
	const folder = quickProject(temporaryFolder(), {
		"trtgate.yml": quickConfig.replace("backend: onnxruntime", "backend: auto"),
	});
	const programs = installReplay(folder, { comparison: "same-model", ...replay });
	const run = await runCli(["run", "--out", "out"], { cwd: folder, env: { PATH: programs } });
	return { run, folder };
}

it("backend: auto uses ONNX Runtime if there is trtexec but no GPU", async () => {
	const { run, folder } = await auto({ smi: "fault=no-driver" });
	expectExit(run, 0);
	expect(readResult(join(folder, "out")).backend.kind).toBe("onnxruntime");
});

it.each([
	["no GPU", { smi: "fault=no-devices" }, /nvidia-smi lists no GPU/],
	[
		"a trtexec that names no version",
		{ faults: [{ step: "help", do: "exit", code: 127, says: "libnvinfer.so.10 is missing" }] },
		/libnvinfer/,
	],
] as const)(
	"backend: tensorrt with %s is the config's fault: exit 2, and ONNX Runtime does not step in",
	async (_what, replay, says) => {
		const { run } = await startReplay({ comparison: "same-model", ...replay });
		for (const words of [says, "[backend-mismatch]", /→ .*(onnxruntime|GPU)/]) expectRefusal(run, words);
	},
);

it.each([
	[
		"no nvidia-smi",
		null,
		"nvidia-smi is not installed, so the GPU's clocks, power and foreign processes are unknown.",
	],
	["an nvidia-smi that ends at once", "fault=end:1", "nvidia-smi ended (exit code 15)"],
])(
	"backend: tensorrt with %s leaves it to trtexec whether there is a GPU, and reports what is unknown",
	async (_what, smi, sentence) => {
		const { run, result } = await gateReplay({ comparison: "same-model", smi }, { config: fast });
		expectExit(run, 0);
		expect(result.outcome).toBe("pass");
		expect(result.backend).toMatchObject({ kind: "tensorrt", version: "10.6.0" });
		expect(result.notes.join(" ")).toContain(sentence);
	},
);

it("backend: tensorrt uses trtexec from --trtexec, and refuses a missing one", async () => {
	const { run } = await startReplay({ comparison: "same-model" }, { argv: ["--trtexec", "./none/trtexec"] });
	expectRefusal(run, /none\/trtexec does not exist/);
});

it("backend: auto uses TensorRT if there are trtexec and a GPU, and runs a newer major version than it knows to the end, which it reports", async () => {
	// Since 11, the file's types are the precision, and this one's are fp32, so the recorded fp16 answers do not match.
	const config = [
		...fast,
		["backend: tensorrt", "backend: auto"],
		["precision: fp16", "precision: fp32"],
		["    golden: golden/golden.json\n", ""],
	] as const;
	const { run, result } = await gateReplay({ comparison: "same-model", version: "120000" }, { config });
	expectExit(run, 0);
	expect(result.backend).toMatchObject({ kind: "tensorrt", version: "12.0.0" });
	expect(result.workloads[0]?.verdict).toBe("unchanged");
	expect(result.notes.join(" ")).toMatch(/TensorRT 12\.0\.0 is newer than the newest supported version/);
});

it("a precision that TensorRT 11 takes from the ONNX file alone is refused before the build, with what to do", async () => {
	const { run, result } = await gateReplay({ comparison: "same-model", version: "110100" });
	expect(run.exit).toBe(1);
	expect(result.builds.map((build) => build.state)).toEqual(["skipped", "skipped"]);
	expect(result.findings.map((finding) => finding.code)).toContain("precision-typed");
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectExit } from "../support/project.ts";
import { type Change, gateReplay, startReplay } from "../support/replay/gate.ts";

interface Asked {
	step: string;
	argv: string[];
	visible: string | null;
}

function askedOf(folder: string): Asked[] {
	const lines = readFileSync(join(folder, "replay-bin/state/asked.jsonl"), "utf8").trim().split("\n");
	return lines.map((line) => JSON.parse(line)).filter(({ step }: Asked) => step !== "help");
}

const engine = (keys: string): NonNullable<Change["config"]>[number] => [
	"{ precision: fp16 }",
	`{ precision: fp16, ${keys} }`,
];
const looks = ["pairs: [5, 8]", "pairs: [5]"] as const;
const makesPlugin = [
	"    onnx: model.onnx",
	"    onnx: model.onnx\n    prepare: printf library > libmine.so",
] as const;

it("settings of TensorRT reach every build and every run", async () => {
	const keys =
		"workspace: 1GiB, optimization-level: 4, plugins: [libmine.so], flags: [--sparsity=enable, --allocationStrategy=profile]";
	const change = { config: [engine(keys), makesPlugin, looks], argv: ["--device", "0"] };
	const { run, folder, result } = await gateReplay({ comparison: "same-model" }, change);
	expectExit(run, 0);
	const asked = askedOf(folder);
	expect(new Set(asked.map(({ visible }) => visible))).toEqual(new Set(["0"]));
	const [builds, runs] = [
		asked.filter(({ step }) => step === "build"),
		asked.filter(({ step }) => step !== "build"),
	];
	expect(builds).toHaveLength(2);
	expect(new Set(runs.map(({ step }) => step))).toEqual(new Set(["golden", "warm", "perf", "profile"]));
	for (const [at, { argv }] of builds.entries()) {
		const own = [
			"--memPoolSize=workspace:1024M",
			"--builderOptimizationLevel=4",
			"--sparsity=enable",
			"--device=0",
		];
		expect(argv).toEqual(expect.arrayContaining(own));
		expect(argv).toContain(`--staticPlugins=${join(folder, ["base", "head"][at] ?? "", "libmine.so")}`);
	}
	for (const { argv } of runs) {
		expect(argv).toEqual(
			expect.arrayContaining([
				expect.stringMatching(/^--staticPlugins=.*libmine\.so$/),
				"--allocationStrategy=profile",
			]),
		);
		expect(argv.join(" ")).not.toMatch(/sparsity|memPoolSize|OptimizationLevel/);
	}
	expect(result.builds[0]?.recipe?.["flags"]).toContain("--staticPlugins=libmine.so");
});

it("settings of TensorRT put every child on the slice of a GPU, as its device 0", async () => {
	const device = "MIG-00000000-0000-0000-0000-000000000001";
	const change = {
		config: [looks, ["    golden: golden/golden.json\n", ""]] as const,
		argv: ["--device", device],
	};
	const replay = { comparison: "same-model", smi: "steady=yes driver=610 slice=1g.18gb" } as const;
	const { run, folder, result } = await gateReplay(replay, change);
	expectExit(run, 0);
	const asked = askedOf(folder);
	expect(new Set(asked.map(({ visible }) => visible))).toEqual(new Set([device]));
	expect(asked.every(({ argv }) => argv.includes("--device=0"))).toBe(true);
	expect(result.environment).toMatchObject({ gpu: "NVIDIA H200", cuda: "13.3", mig: "1g.18gb" });
	expect(result.notes.join(" ")).toContain("A MIG slice (1g.18gb) of NVIDIA H200 is measured");
});

it("settings of TensorRT take several profiles and streams to the run that uses them", async () => {
	const several =
		"profiles: [{ batch: { min: 1, opt: 1, max: 2 }, sequence: 64 }, { batch: { min: 3, opt: 4, max: 8 }, sequence: 64 }]";
	const workload = ["{ batch: 4, sequence: 64 }", "{ batch: 4, sequence: 64, streams: 2 }"] as const;
	const config = [engine(several), looks, workload, ["    golden: golden/golden.json\n", ""]] as const;
	const { run, folder, result } = await gateReplay({ comparison: "same-model" }, { config });
	expectExit(run, 0);
	const [build] = askedOf(folder);
	const at = build?.argv.indexOf("--profile=1") ?? -1;
	expect(build?.argv.slice(at, at + 4)).toEqual([
		"--profile=1",
		"--minShapes=tokens:3x64",
		"--optShapes=tokens:4x64",
		"--maxShapes=tokens:8x64",
	]);
	const perf = askedOf(folder).find(({ step }) => step === "perf");
	expect(perf?.argv).toEqual(
		expect.arrayContaining(["--useProfile=1", "--infStreams=2", "--shapes=tokens:4x64"]),
	);
	expect(result.workloads[0]?.verdict).toBe("unchanged");
});

it.each([
	[
		"a plugin that is not there",
		{ config: [engine("plugins: [libmine.so]")] },
		/plugin library libmine\.so of net\/fp16 is missing\.[\s\S]*\[asset-missing\]/,
	],
	[
		"a flag of trtgate's own",
		{ config: [engine("flags: [--memPoolSize=workspace:1]")] },
		/trtgate\.yml:\d+:\d+: .*flags\[0\] is "--memPoolSize"[\s\S]*Use `workspace`/,
	],
	[
		"a GPU that is not there",
		{ argv: ["--device", "7"] },
		/lists no GPU that is device "7"[\s\S]*nvidia-smi -L[\s\S]*/,
	],
	[
		"a device that is none",
		{ argv: ["--device", "cuda:0"] },
		/input device is "cuda:0"; expected a GPU's index/,
	],
])("settings of TensorRT with %s are the config's fault: exit 2", async (_what, change, says) => {
	const { run } = await startReplay({ comparison: "same-model" }, change);
	expect(run.stderr).toMatch(says);
	expectExit(run, 2);
});

import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { deskLabels, deskPath } from "./desk.ts";

export interface ReplayFault {
	step: "help" | "build" | "golden" | "warm" | "perf" | "profile";
	arm?: "base" | "head";
	/** First occurrence, counted from 0. */
	from?: number;
	until?: number;
	do: string;
	/** For `recording`: `10.6/fail-bad-truncated`. */
	recording?: string;
	bytes?: number;
	signal?: string;
	code?: number;
	says?: string;
	pidFile?: string;
}

export interface Replay {
	comparison: "same-model" | "slower-head" | "wrong-head";
	faults?: readonly ReplayFault[];
	buildFactors?: Partial<Record<"base" | "head", readonly number[]>>;
	/** Side whose recordings answer, whatever the model is. */
	as?: "base" | "head";
	/** Version as in the banner: `100600`. */
	version?: string;
	/** Share of the recorded times between lines; 0 for none. */
	scale?: number;
	/** Words before nvidia-smi's own arguments, e.g. `fault=no-driver`; null: there is no nvidia-smi. */
	smi?: string | null;
	/** Nobody answers but the programs themselves: for a test that blocks its process while they run. */
	alone?: boolean;
}

/** Three models on TensorRT 8.6 (base) and 10.6 (head), of which one answers. */
export interface UpgradeReplay extends Omit<Replay, "comparison" | "as"> {
	comparison: "upgrade";
	as: "base" | "head";
}

const support = resolve("test/support");

export function installReplay(folder: string, replay: Replay | UpgradeReplay): string {
	const bin = join(folder, "replay-bin");
	mkdirSync(bin, { recursive: true });
	const { smi = "steady=yes", alone = false, ...config } = replay;
	const configPath = join(bin, "trtexec.json");
	const { base, head } =
		replay.comparison === "upgrade" ? { base: "", head: "" } : projects[replay.comparison];
	const models = base === head ? {} : { base: modelPath(base), head: modelPath(head) };
	writeFileSync(configPath, JSON.stringify({ ...config, models, state: join(bin, "state") }));
	const node = (words: string): string => `"${process.execPath}" ${words}`;
	writeProgram(
		join(bin, "trtexec"),
		node(`${support}/replay/trtexec.mjs "${configPath}"`),
		alone ? "" : deskLabels(configPath),
	);
	// Without TensorRT's module, whatever this machine has.
	writeProgram(join(bin, "python3"), "false");
	const program = node(`${support}/programs/nvidia-smi.mjs ${smi}`);
	if (smi !== null)
		writeProgram(join(bin, "nvidia-smi"), program, smi === "steady=yes" ? quickAnswers(program) : "");
	return `${bin}:${process.env["PATH"] ?? ""}`;
}

/** Answers of a healthy nvidia-smi that never change, without a Node, which takes thirty times as long to start as a shell. */
const quickAnswers = (program: string): string => `case "$*" in
--help-query-gpu) exec cat "${support}/../fixtures/nvidia-smi/h200-help-query-gpu.txt" ;;
-L) exec cat "${support}/../fixtures/nvidia-smi/h200-L.txt" ;;
dmon*) echo "Not supported on the device(s)"; exit 3 ;;
*--query-compute-apps*-lms*) exec sleep 3600 ;;
--version|--query-gpu=*)
	answer="${deskPath()}.$(printf %s "$*" | cksum | tr -d " ")"
	[ -f "$answer" ] || { ${program} "$@" >"$answer.$$" && mv "$answer.$$" "$answer"; }
	exec cat "$answer" ;;
esac
`;

function writeProgram(path: string, program: string, before = ""): void {
	writeFileSync(path, `#!/bin/sh\n${before}exec ${program} "$@"\n`);
	chmodSync(path, 0o755);
}

export interface ComparisonProject {
	model: string;
	engine: string;
	workload: string;
}

const projects: Readonly<Record<Replay["comparison"], ComparisonProject & { base: string; head: string }>> = {
	"same-model": {
		base: "encoder",
		head: "encoder",
		model: "dims: { batch: { min: 1, opt: 4, max: 4 }, sequence: { min: 1, opt: 64, max: 64 } }",
		engine: "fp16: { precision: fp16 }",
		workload: "{ batch: 4, sequence: 64 }",
	},
	"slower-head": {
		base: "classifier",
		head: "head-classifier-wider",
		model: "dims: { batch: { min: 1, opt: 8, max: 8 } }",
		engine: "fp16: { precision: fp16 }",
		workload: "{ batch: 8 }",
	},
	"wrong-head": {
		base: "segmenter",
		head: "head-segmenter-wrong",
		model: "",
		engine: "fp32: { precision: fp32 }",
		workload: "{}",
	},
};

const modelPath = (name: string): string => resolve("test/fixtures/models", `${name}.onnx`);

const duration = "1s";

export function comparisonConfig(comparison: Replay["comparison"], measure = ""): string {
	const { model, engine, workload } = projects[comparison];
	return `version: 1
backend: tensorrt
models:
  net:
    onnx: model.onnx
    ${model}
    engines: { ${engine} }
    workloads: [${workload}]
    golden: golden/golden.json
measure: { pairs: [5, 8], warm-up: 300ms, duration: ${duration}, timeout: 5m, build-timeout: 5m, unchanged-models: rebuild${measure} }
cache: { engines: false, timing: false, verdicts: false }
probes: nightly
`;
}

export function comparisonFiles(
	comparison: Replay["comparison"],
	arm: "base" | "head",
	measure = "",
): Record<string, string | Uint8Array> {
	const folder = resolve("test/fixtures/comparisons", comparison, "golden");
	const manifest = readFileSync(join(folder, "golden.json"), "utf8");
	const paths = [...manifest.matchAll(/"path": "([^"]+\.bin)"/g)].map((match) => match[1] ?? "");
	return {
		"trtgate.yml": comparisonConfig(comparison, measure),
		"model.onnx": readFileSync(modelPath(projects[comparison][arm])),
		"golden/golden.json": manifest,
		...Object.fromEntries(paths.map((path) => [`golden/${path}`, readFileSync(join(folder, path))])),
	};
}

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { DType, GoldenManifest, GoldenOutput, TensorFile } from "../../generated/golden.ts";
import type { Processes } from "../../src/adapters/process/processes.ts";
import index from "../fixtures/golden/recorded.json" with { type: "json" };

const fixtures = new URL("../fixtures/", import.meta.url);

interface Kept {
	offset: number;
	bytes: number;
	from?: string;
}

interface RecordedInput {
	dtype: DType;
	shape: number[];
	tensor: string;
}

interface RecordedOutput {
	dtype: DType;
	/** As the dump's name has it: -1 where it depends on the data. */
	shape: number[];
	file: string;
	reference: string;
	got: string;
}

export interface RecordedRun {
	inputs: Record<string, RecordedInput>;
	outputs: Record<string, RecordedOutput>;
}

const kept = index.tensors as Record<string, Kept>;
export const recordedRuns = index.cases as unknown as Record<string, RecordedRun>;
const packed = gunzipSync(readFileSync(new URL("golden/recorded.bin.gz", fixtures)));

export function recordedBytes(key: string): Uint8Array {
	const { offset, bytes, from } = kept[key] ?? { offset: 0, bytes: 0 };
	const own = Buffer.alloc(bytes);
	packed.copy(own, 0, offset, offset + bytes);
	if (from === undefined) return own;
	const reference = Buffer.from(recordedBytes(from));
	for (let at = 0; at < bytes; at += 4)
		own.writeInt32LE((own.readInt32LE(at) + reference.readInt32LE(at)) | 0, at);
	return own;
}

/** What the file of a data-dependent shape holds a part of; ONNX Runtime says it whole. */
const wholeShapes: Readonly<Record<string, number[]>> = { "2,-1": [2, 7] };

export function wholeShape({ shape }: RecordedOutput): number[] {
	return wholeShapes[String(shape)] ?? shape;
}

interface SetAbout {
	modelPath: string;
	outputs?: Readonly<Record<string, GoldenOutput>>;
}

export function writeRecordedGolden(
	folder: string,
	runs: readonly string[],
	{ modelPath, outputs = {} }: SetAbout,
): GoldenManifest {
	const file = (key: string, { dtype, shape }: { dtype: DType; shape: number[] }): TensorFile => {
		const bytes = recordedBytes(key);
		writeFileSync(join(folder, `${key}.bin`), bytes);
		return { path: `${key}.bin`, sha256: createHash("sha256").update(bytes).digest("hex"), dtype, shape };
	};
	const cases = runs.map((id) => {
		const run = recordedRuns[id] ?? { inputs: {}, outputs: {} };
		const inputs = Object.entries(run.inputs).map(([name, input]) => [name, file(input.tensor, input)]);
		const answers = Object.entries(run.outputs).map(([name, output]) => [
			name,
			file(output.reference, { dtype: output.dtype, shape: wholeShape(output) }),
		]);
		return { id, inputs: Object.fromEntries(inputs), outputs: Object.fromEntries(answers) };
	});
	const manifest = {
		schemaVersion: 1,
		goldenId: "recorded@1",
		model: { path: "model.onnx", sha256: createHash("sha256").update(readFileSync(modelPath)).digest("hex") },
		producer: { backend: "onnxruntime-python", version: "unrecorded", precision: "fp32" },
		outputs: {
			...Object.fromEntries(Object.keys(cases[0]?.outputs ?? {}).map((name) => [name, {}])),
			...outputs,
		},
		cases,
	};
	writeFileSync(join(folder, "golden.json"), JSON.stringify(manifest));
	return manifest as unknown as GoldenManifest;
}

type Line = [ms: number, stream: string, text: string];

function transcriptOf(run: string): Line[] {
	const [parent = "", name = ""] = [run.slice(0, run.lastIndexOf("/")), basename(run)];
	if (parent.startsWith("comparisons/")) {
		const { steps } = JSON.parse(
			gunzipSync(readFileSync(new URL(`${parent}/steps.json.gz`, fixtures))).toString("utf8"),
		);
		return steps.find(({ step }: { step: string }) => step === name).transcript;
	}
	const file = new URL(`trtexec/${parent.replace("trtexec-", "")}/${name}/transcript.jsonl.gz`, fixtures);
	const text = gunzipSync(readFileSync(file)).toString("utf8").trimEnd();
	return text.split("\n").map((line): Line => JSON.parse(line));
}

export function replayGoldenRuns(runs: readonly string[]): Processes {
	const inputsOf = (argv: readonly string[]): Map<string, string> => {
		const list =
			argv.find((argument) => argument.startsWith("--loadInputs="))?.slice("--loadInputs=".length) ?? "";
		return new Map(
			list
				.split(",")
				.map((part) => [part.slice(0, part.lastIndexOf(":")), part.slice(part.lastIndexOf(":") + 1)]),
		);
	};
	const runOf = (given: ReadonlyMap<string, string>, cwd: string): string | undefined =>
		runs.find((name) =>
			Object.entries(recordedRuns[name]?.inputs ?? {}).every(([input, { tensor }]) => {
				const path = given.get(input);
				return path !== undefined && readFileSync(join(cwd, path)).equals(recordedBytes(tensor));
			}),
		);
	return {
		async run({ argv, cwd = "", logPath, onLine }) {
			const given = inputsOf(argv);
			const name = runOf(given, cwd);
			const about = { signal: null, wallMs: 1, tail: [], stdout: "", logPath: logPath ?? null, argv };
			if (name === undefined)
				return { ...about, state: "not-started", exitCode: null, problem: "nobody recorded this" };
			for (const { file, got } of Object.values(recordedRuns[name]?.outputs ?? {}))
				writeFileSync(join(cwd, file), recordedBytes(got));
			for (const [, , text] of transcriptOf(name)) {
				const input = /^(.*Using values loaded from ).+( for input (.+))$/.exec(text);
				onLine?.(input === null ? text : `${input[1]}${given.get(input[3] ?? "")}${input[2]}`, false);
			}
			return { ...about, state: "exited", exitCode: 0, problem: "" };
		},
		exec: (job) => Promise.reject(new Error(`nobody recorded ${job.argv[0]}`)),
		killAll: async () => {},
		killNow() {},
		owns: () => false,
		busy: (work) => work,
		childMs: () => 0,
	};
}

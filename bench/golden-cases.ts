// A whole validation set through the gate: cases a second on ONNX Runtime's WASM, and whether memory stays bounded.
// node bench/golden-cases.ts [folder of the bundle]
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { GoldenCase, GoldenManifest, TensorFile } from "../generated/golden.ts";
import type { Result } from "../generated/result.ts";
import { model, node, value } from "../test/support/onnx-writer.ts";

const half = 5000;
const many = 10_000;
/** Judging all may take this many times the memory of judging half: what V8 accumulates before it collects is the same for both. */
const flat = 1.2;
const shape = [1, 4, 16, 16];
const elements = shape.reduce((product, size) => product * size, 1);

const config = `version: 1
backend: onnxruntime
onnxruntime: wasm
models:
  net: { onnx: net.onnx, golden: golden/golden.json, workloads: [{ name: one }] }
measure: { pairs: [5], warm-up: 1ms, duration: 5ms, threads: 1 }
`;

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function writeTensor(folder: string, path: string, values: Float32Array): TensorFile {
	const bytes = new Uint8Array(values.buffer);
	writeFileSync(join(folder, path), bytes);
	return { path, sha256: sha256(bytes), format: "raw", dtype: "float32", shape };
}

/** y = x + x: right to the last bit on every machine. Each case differs from all others. */
function writeCase(folder: string, index: number): GoldenCase {
	const x = Float32Array.from(
		{ length: elements },
		(_, at) => Math.sin(index * 0.37 + at * 0.11) + 0.25 * Math.cos(at * index),
	);
	return {
		id: `case-${index}`,
		inputs: { x: writeTensor(folder, `${index}.x.raw`, x) },
		outputs: {
			y: writeTensor(
				folder,
				`${index}.y.raw`,
				x.map((number) => number + number),
			),
		},
	};
}

function writeProject(folder: string, cases: number): void {
	mkdirSync(join(folder, "golden"), { recursive: true });
	const onnx = model({
		nodes: [node({ op: "Add", inputs: ["x", "x"] })],
		inputs: [value("x", shape)],
		outputs: [value("y", shape)],
	});
	writeFileSync(join(folder, "net.onnx"), onnx);
	writeFileSync(join(folder, "trtgate.yml"), config);
	const [first, ...others] = Array.from({ length: cases }, (_, index) =>
		writeCase(join(folder, "golden"), index),
	);
	if (first === undefined) throw new Error("a golden has at least one case");
	const manifest: GoldenManifest = {
		schemaVersion: 1,
		goldenId: "net@1",
		model: { path: "net.onnx", sha256: sha256(onnx) },
		producer: { backend: "bench", version: "1", precision: "fp32" },
		outputs: { y: { batchAxis: 0 } },
		cases: [first, ...others],
	};
	writeFileSync(join(folder, "golden", "golden.json"), JSON.stringify(manifest));
}

/** High-water mark of a process's resident memory, as Linux keeps it; null if it has ended or is unknown. */
function peakMebibytes(pid: number): number | null {
	try {
		const kibibytes = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
		return kibibytes === undefined ? null : Number(kibibytes) / 1024;
	} catch {
		return null;
	}
}

function childrenOf(pid: number): number[] {
	try {
		return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
	} catch {
		return [];
	}
}

interface Peaks {
	gateMebibytes: number;
	/** Of the largest of its workers. */
	workerMebibytes: number;
}

interface Watched {
	/** After half of the cases, after all, and of the whole run. */
	early: Peaks;
	verified: Peaks;
	whole: Peaks;
	verifyMs: number;
	/** Lines that reported progress. */
	words: string[];
	exit: number | null;
}

/** Reads the lines of progress: which peaks belong to which moment. */
function readLine(line: string, watched: Watched, verifyStarted: { ms: number }): void {
	if (line.startsWith("verify")) verifyStarted.ms = performance.now();
	const from = /cases ([\d,]+) to [\d,]+ of/.exec(line)?.[1]?.replaceAll(",", "");
	if (from !== undefined) watched.words.push(line.trim());
	if (from !== undefined && Number(from) > half && watched.early.gateMebibytes === 0)
		watched.early = { ...watched.whole };
	if (!line.includes("golden cases match")) return;
	watched.verifyMs = performance.now() - verifyStarted.ms;
	watched.verified = { ...watched.whole };
}

function readPeaks(pid: number, peaks: Peaks): void {
	peaks.gateMebibytes = Math.max(peaks.gateMebibytes, peakMebibytes(pid) ?? 0);
	for (const worker of childrenOf(pid))
		peaks.workerMebibytes = Math.max(peaks.workerMebibytes, peakMebibytes(worker) ?? 0);
}

async function watchGate(cli: string, folder: string): Promise<Watched> {
	const argv = [cli, "run", "--base", ".", "--head", ".", "--out", "out"];
	const child = spawn(process.execPath, argv, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
	const none: Peaks = { gateMebibytes: 0, workerMebibytes: 0 };
	const watched: Watched = {
		early: { ...none },
		verified: { ...none },
		whole: { ...none },
		verifyMs: Number.NaN,
		words: [],
		exit: null,
	};
	const pid = child.pid ?? -1;
	const timer = setInterval(() => readPeaks(pid, watched.whole), 10);
	const verifyStarted = { ms: Number.NaN };
	let tail = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		readPeaks(pid, watched.whole);
		const lines = `${tail}${text}`.split("\n");
		tail = lines.pop() ?? "";
		for (const line of lines) readLine(line, watched, verifyStarted);
	});
	watched.exit = await new Promise((settle) => child.on("close", settle));
	clearInterval(timer);
	return watched;
}

async function run(cli: string, cases: number): Promise<Watched> {
	const folder = mkdtempSync(join(tmpdir(), "bench-cases-"));
	try {
		writeProject(folder, cases);
		const watched = await watchGate(cli, folder);
		const result: Result = JSON.parse(readFileSync(join(folder, "out", "result.json"), "utf8"));
		const matching = result.golden.filter(({ state }) => state === "match").length;
		if (matching !== cases)
			throw new Error(
				`${matching} of ${cases} cases match, exit ${watched.exit}: ${JSON.stringify(result.errors).slice(0, 1000)}`,
			);
		return watched;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

function printTable({ early, verified, whole, verifyMs, words }: Watched): void {
	const mebibytes = (amount: number): string => `${amount.toFixed(0)} MiB`;
	const ratios = (["gateMebibytes", "workerMebibytes"] as const).map((of) => verified[of] / early[of]);
	const row = (what: string, of: keyof Peaks, ratio: number | undefined): string =>
		`| ${what} | ${mebibytes(early[of])} | ${mebibytes(verified[of])} | ${ratio?.toFixed(2)} | ${mebibytes(whole[of])} |`;
	console.log(
		"\n## 10,000 golden cases through the gate, both sides, ONNX Runtime WASM, 4 KiB in and 4 KiB out a case\n",
	);
	console.log(`${((many / verifyMs) * 1000).toFixed(0)} cases/s, each inferred by both sides and judged\n`);
	console.log("| peak memory | at 5,000 | at 10,000 | ratio | with the report |\n|---|---|---|---|---|");
	console.log(row("gate", "gateMebibytes", ratios[0]));
	console.log(row("worker", "workerMebibytes", ratios[1]));
	const kept = ratios.every((ratio) => ratio <= flat) && words.length > 1;
	console.log(
		`progress: ${words.length} lines, e.g. \`${words[1] ?? "none"}\`; limit of the ratios ${flat}: ${kept ? "kept" : "BROKEN"}`,
	);
	if (!kept) process.exitCode = 1;
}

printTable(await run(join(resolve(process.argv[2] ?? "dist"), "cli.js"), many));

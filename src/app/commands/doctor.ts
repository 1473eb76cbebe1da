// `trtgate doctor`: what this machine can do, and what to fix.
import { access, constants, mkdir } from "node:fs/promises";
import { availableParallelism, cpus, freemem } from "node:os";
import { childEnvironment } from "../../adapters/github/env.ts";
import { readBoard } from "../../adapters/gpu/tegra.ts";
import { createProcesses, type Processes } from "../../adapters/process/processes.ts";
import { tensorRtWorker } from "../../adapters/tensorrt-worker/worker.ts";
import { cleanLine } from "../../adapters/terminal/progress.ts";
import { findTrtexec } from "../../adapters/trtexec/find.ts";
import { jsonText } from "../../core/text/escape.ts";
import { formatBytes } from "../../core/text/units.ts";
import { boardFingerprint } from "../../formats/tegra/tegrastats.ts";
import { findOptions, workerPathOf } from "../choose-backend.ts";
import { cacheFolder, distFolder } from "../compose.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { doctorTable } from "./tables.ts";

interface Check {
	name: string;
	/** need: nothing works without it. want: something is lost without it. */
	weight: "need" | "want";
	look(): Promise<{ ok: boolean; status: string; fix?: string }>;
}

export async function doctor(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, doctorTable);
	const findings: Found[] = [];
	for (const { look, ...check } of checks(terminal)) findings.push({ ...check, ...(await look()) });
	if (args.flag("json")) terminal.out(jsonText({ checks: findings }));
	else terminal.out(findings.map(renderFinding).join(""));
	return findings.some((finding) => finding.weight === "need" && !finding.ok) ? exitCodes.runner : exitCodes.ok;
}

type Found = Omit<Check, "look"> & Awaited<ReturnType<Check["look"]>>;

function renderFinding({ name, weight, ok, status, fix }: Found): string {
	const mark = weight === "need" ? "✗" : "–";
	const advice = ok || fix === undefined ? "" : `  → ${fix}\n`;
	return `${ok ? "✓" : mark} ${name}: ${status}\n${advice}`;
}

function checks(terminal: Terminal): Check[] {
	const processes = createProcesses({ env: childEnvironment() });
	const program = (file: string, args: readonly string[], fix: string) => async () => {
		const record = await processes.run({ argv: [file, ...args], timeoutMs: 10_000 });
		const ok = record.state === "exited" && record.exitCode === 0;
		return { ok, status: ok ? cleanLine(record.tail[0] ?? "found") : "not found or not working", fix };
	};
	const askSmi = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
	const nvidiaSmi = program("nvidia-smi", askSmi, "Without a GPU, models run on ONNX Runtime (CPU).");
	const cpu = `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} threads, ${formatBytes(freemem())} free`;
	return [
		// An older Node ends in the entry point.
		{ name: "Node.js", weight: "need", look: async () => ({ ok: true, status: process.version }) },
		{ name: "CPU", weight: "want", look: async () => ({ ok: true, status: cpu }) },
		{ name: "ONNX Runtime (WebAssembly)", weight: "need", look: () => readable(`${distFolder()}/ort/ort-wasm-simd-threaded.wasm.gz`) },
		{ name: "cache folder", weight: "want", look: () => writable(cacheFolder(terminal.environment)) },
		{ name: "git", weight: "want", look: program("git", ["--version"], "Without git, base and head must be folders.") },
		{ name: "trtexec", weight: "want", look: () => lookForTrtexec(terminal, processes) },
		{ name: "TensorRT in Python", weight: "want", look: () => lookForWorker(processes) },
		{ name: "GPU", weight: "want", look: () => lookForGpu(processes, nvidiaSmi) },
	];
}

async function lookForGpu(processes: Processes, nvidiaSmi: Check["look"]): ReturnType<Check["look"]> {
	const board = await readBoard(processes);
	if (board === null) return nvidiaSmi();
	const { state } = await processes.run({ argv: ["tegrastats", "--help"], timeoutMs: 10_000 });
	const { board: model = "a Jetson", l4t = "of an unknown release", powerMode = "unknown", gpuClock = "unknown" } = boardFingerprint(board);
	const watched = state === "not-started" ? "; tegrastats is missing" : "";
	return {
		ok: board.powerMode !== null && watched === "",
		status: cleanLine(`${model}, L4T ${l4t}, power mode ${powerMode}, GPU clock ${gpuClock}${watched}`),
		fix: "Without nvpmodel and tegrastats, power mode, clocks and power are unknown: in a container, mount /usr/sbin/nvpmodel, /usr/bin/tegrastats, /etc/nvpmodel.conf and /etc/nv_tegra_release.",
	};
}

async function lookForTrtexec(terminal: Terminal, processes: Processes) {
	const { cwd, environment } = terminal;
	const found = await findTrtexec(findOptions({ cwd, environment, processes }));
	if (found.state === "found") return { ok: true, status: `TensorRT ${found.trtexec.version.text}, ${found.trtexec.program}` };
	const broken = found.tried.filter(({ why }) => why !== "does not exist").map(({ program, why }) => `${program} ${why}`);
	const status = broken.length === 0 ? "not on PATH nor in a usual folder" : broken.join("; ");
	return {
		ok: false,
		status: cleanLine(status),
		fix: "Install TensorRT with its programs, or name trtexec with --trtexec; the Python wheels have none.",
	};
}

async function lookForWorker(processes: Processes) {
	const probed = await tensorRtWorker({ python: "python3", workerPath: workerPathOf(distFolder()), processes }).probe();
	if ("absent" in probed)
		return { ok: false, status: cleanLine(probed.absent), fix: "Without it, golden cases run in trtexec, one process each." };
	return { ok: true, status: `${probed.tensorrt}, ${probed.device}` };
}

async function readable(path: string) {
	const ok = await can(access(path, constants.R_OK));
	return { ok, status: ok ? "ships with trtgate" : `missing at ${path}`, fix: "Use a complete clone or release of trtgate." };
}

async function writable(path: string) {
	const ok = await can(mkdir(path, { recursive: true }).then(() => access(path, constants.W_OK)));
	return { ok, status: ok ? path : `${path} cannot be written`, fix: "Unpacked files then go to the temporary folder, at every start." };
}

function can(work: Promise<void>): Promise<boolean> {
	return work.then(
		() => true,
		() => false,
	);
}

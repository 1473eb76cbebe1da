// `trtgate doctor`: what this machine can do, and what to mend.
import { access, constants, mkdir } from "node:fs/promises";
import { availableParallelism, cpus, freemem } from "node:os";
import { childEnvironment } from "../../adapters/github/env.ts";
import { createProcesses, type Processes } from "../../adapters/process/processes.ts";
import { tensorRtWorker } from "../../adapters/tensorrt-worker/worker.ts";
import { cleanLine } from "../../adapters/terminal/text.ts";
import { findTrtexec } from "../../adapters/trtexec/find.ts";
import { jsonText } from "../../core/text/escape.ts";
import { formatBytes } from "../../core/text/units.ts";
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
	look(): Promise<{ ok: boolean; said: string; mend?: string }>;
}

export async function doctor(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, doctorTable);
	const findings: Found[] = [];
	for (const check of checks(terminal)) findings.push({ name: check.name, weight: check.weight, ...(await check.look()) });
	if (args.flag("json")) terminal.out(jsonText({ checks: findings }));
	else terminal.out(findings.map(renderFinding).join(""));
	return findings.some((finding) => finding.weight === "need" && !finding.ok) ? exitCodes.runner : exitCodes.ok;
}

interface Found {
	name: string;
	weight: Check["weight"];
	ok: boolean;
	said: string;
	mend?: string;
}

function renderFinding({ name, weight, ok, said, mend }: Found): string {
	const mark = weight === "need" ? "✗" : "–";
	const advice = ok || mend === undefined ? "" : `  → ${mend}\n`;
	return `${ok ? "✓" : mark} ${name}: ${said}\n${advice}`;
}

function checks(terminal: Terminal): Check[] {
	const processes = createProcesses({ env: childEnvironment() });
	const program = (file: string, args: readonly string[], mend: string) => async () => {
		const record = await processes.run({ argv: [file, ...args], timeoutMs: 10_000 });
		const ok = record.state === "exited" && record.exitCode === 0;
		return { ok, said: ok ? cleanLine(record.tail[0] ?? "found") : "not found or not working", mend };
	};
	return [
		{
			name: "Node.js",
			weight: "need",
			// An older one does not come this far.
			look: async () => ({ ok: true, said: process.version }),
		},
		{
			name: "CPU",
			weight: "want",
			look: async () => ({
				ok: true,
				said: `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} threads, ${formatBytes(freemem())} free`,
			}),
		},
		{ name: "ONNX Runtime (WebAssembly)", weight: "need", look: () => readable(`${distFolder()}/ort/ort-wasm-simd-threaded.wasm.gz`) },
		{ name: "cache folder", weight: "want", look: () => writable(cacheFolder(terminal.environment)) },
		{ name: "git", weight: "want", look: program("git", ["--version"], "Without git, base and head must be folders.") },
		{ name: "trtexec", weight: "want", look: () => lookForTrtexec(terminal, processes) },
		{ name: "TensorRT in Python", weight: "want", look: () => lookForWorker(processes) },
		{
			name: "GPU",
			weight: "want",
			look: program(
				"nvidia-smi",
				["--query-gpu=name,driver_version", "--format=csv,noheader"],
				"Without a GPU, models run on ONNX Runtime (CPU).",
			),
		},
	];
}

async function lookForTrtexec(terminal: Terminal, processes: Processes) {
	const { cwd, environment } = terminal;
	const found = await findTrtexec(findOptions({ cwd, environment, processes }));
	if (found.state === "found") return { ok: true, said: `TensorRT ${found.trtexec.version.text}, ${found.trtexec.program}` };
	const broken = found.tried.filter(({ why }) => why !== "is not there").map(({ program, why }) => `${program} ${why}`);
	const said = broken.length === 0 ? "not on PATH nor in a usual folder" : broken.join("; ");
	return {
		ok: false,
		said: cleanLine(said),
		mend: "Install TensorRT with its programs, or name trtexec with --trtexec; the Python wheels have none.",
	};
}

async function lookForWorker(processes: Processes) {
	const probed = await tensorRtWorker({ python: "python3", workerPath: workerPathOf(distFolder()), processes }).probe();
	if ("absent" in probed)
		return { ok: false, said: cleanLine(probed.absent), mend: "Without it, golden cases run in trtexec, one process each." };
	return { ok: true, said: `${probed.tensorrt}, ${probed.device}` };
}

async function readable(path: string) {
	const ok = await access(path, constants.R_OK).then(
		() => true,
		() => false,
	);
	return { ok, said: ok ? "ships with trtgate" : `missing at ${path}`, mend: "Use a whole clone or release of trtgate." };
}

async function writable(path: string) {
	const ok = await mkdir(path, { recursive: true })
		.then(() => access(path, constants.W_OK))
		.then(
			() => true,
			() => false,
		);
	return { ok, said: ok ? path : `${path} cannot be written`, mend: "Unpacked files then go to the temporary folder, at every start." };
}

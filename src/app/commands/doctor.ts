// `trtgate doctor`: says what this machine can do, and what to fix.
import { access, constants } from "node:fs/promises";
import { availableParallelism, cpus, freemem } from "node:os";
import { basename, join, resolve } from "node:path";
import { systemClock } from "../../adapters/clock.ts";
import { readModel } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { readBoard } from "../../adapters/gpu/tegra.ts";
import { placeModel } from "../../adapters/onnxruntime/model-files.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import { inNewFolder, makeFolders } from "../../adapters/process/write-error.ts";
import { cleanLine } from "../../adapters/terminal/progress.ts";
import { type Found, findTrtexec, libraryAdvice, missingLibrary } from "../../adapters/trtexec/find.ts";
import type { Config } from "../../core/config/config.ts";
import { findDims, fixedRange } from "../../core/config/dims.ts";
import { modelLines, precisionVariants } from "../../core/config/tune.ts";
import { usageError } from "../../core/errors.ts";
import { type NoiseFinding, noiseFindings } from "../../core/telemetry/noise.ts";
import { jsonText } from "../../core/text/escape.ts";
import { formatBytes } from "../../core/text/units.ts";
import { boardFingerprint } from "../../formats/tegra/tegrastats.ts";
import { parseVersionText } from "../../formats/trtexec/banner.ts";
import { tensorRtWorker } from "../../golden/adapters/tensorrt-worker/worker.ts";
import { cacheFolder, distFolder, examplesAt, tensorRtWorkerPath } from "../compose.ts";
import { chooseConfig, readConfigFile } from "../config-file.ts";
import { exitCodes } from "../exit.ts";
import { ownProcesses } from "../own-processes.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { chooseInitSizes } from "./init-sizes.ts";
import { doctorTable } from "./machine-tables.ts";
import { readBackend, runTrial } from "./trial.ts";

interface Check {
	name: string;
	/** need: nothing works without it. */
	weight: "need" | "want";
	look(): Promise<{ ok: boolean; status: string; fix?: string }>;
}

export async function doctor(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, doctorTable);
	if (args.isGiven("model") && !args.flag("noise"))
		throw usageError("--model needs --noise.", "Add --noise, or leave --model out.");
	const options = { ...args.given("trtexec", "model", "device"), quiet: args.flag("quiet") };
	const findings = args.flag("noise")
		? (await measureNoise(options, terminal)).map((finding) => ({ ...finding, weight: "want" as const }))
		: await checkMachine(args.text("trtexec"), terminal);
	if (args.flag("json")) terminal.out(jsonText({ checks: findings }));
	else terminal.out(findings.map(renderFinding).join(""));
	return findings.some((finding) => finding.weight === "need" && !finding.ok)
		? exitCodes.runner
		: exitCodes.ok;
}

async function checkMachine(trtexec: string | undefined, terminal: Terminal): Promise<Finding[]> {
	const { cwd } = terminal;
	const read = await readConfigFile({ cwd, path: chooseConfig({ cwd }) }).catch(() => null);
	const config = read?.config ?? {};
	const all = trtexec === undefined ? checks(terminal, config) : checksOfOne(trtexec, terminal, config);
	const findings: Finding[] = [];
	for (const { look, ...check } of all) findings.push({ ...check, ...(await look()) });
	return findings;
}

type Finding = Omit<Check, "look"> & Awaited<ReturnType<Check["look"]>>;

function renderFinding({ name, weight, ok, status, fix }: Finding): string {
	const mark = weight === "need" ? "✗" : "–";
	const advice = ok || fix === undefined ? "" : `  → ${fix}\n`;
	return `${ok ? "✓" : mark} ${name}: ${status}\n${advice}`;
}

type Places = Pick<Config, "base" | "libraries">;

function checksOfOne(trtexec: string, { cwd, environment }: Terminal, config: Places): Check[] {
	const { base } = config;
	const isBase = base !== undefined && [trtexec, resolve(cwd, trtexec)].includes(base.trtexec);
	const { libraries, python: own }: { libraries?: string; python?: string } = isBase ? base : config;
	const finding = { trtexec, libraries, cwd, environment, processes: ownProcesses() };
	const [program, python] = checksOfTensorRt(findTrtexec(finding), "", "--trtexec", own);
	return [...(program ? [{ ...program, weight: "need" as const }] : []), ...(python ? [python] : [])];
}

function checks({ cwd, environment }: Terminal, { base, libraries }: Places): Check[] {
	const processes = ownProcesses();
	const finding = { cwd, environment, processes, libraries };
	const program = (file: string, args: readonly string[], fix: string) => async () => {
		const record = await processes.run({ argv: [file, ...args], timeoutMs: 10_000 });
		const ok = record.state === "exited" && record.exitCode === 0;
		return { ok, status: ok ? cleanLine(record.tail[0] ?? "found") : "not found or not working", fix };
	};
	const [wasm, cache] = [`${distFolder()}/ort/ort-wasm-simd-threaded.wasm.gz`, cacheFolder(environment)];
	const askSmi = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
	const nvidiaSmi = program("nvidia-smi", askSmi, "Without a GPU, models run on ONNX Runtime (CPU).");
	const cpu = `${cpus()[0]?.model ?? "unknown"}, ${availableParallelism()} threads, ${formatBytes(freemem())} free`;
	return [
		{ name: "Node.js", weight: "need", look: async () => ({ ok: true, status: process.version }) },
		{ name: "CPU", weight: "want", look: async () => ({ ok: true, status: cpu }) },
		{
			name: "ONNX Runtime (WebAssembly)",
			weight: "need",
			look: () =>
				accessible(wasm, constants.R_OK, [
					"ships with trtgate",
					`missing at ${wasm}`,
					"Use a complete clone or release of trtgate.",
				]),
		},
		{
			name: "cache folder",
			weight: "want",
			look: async () => {
				await makeFolders(cache).catch(() => {});
				const fix = "Unpacked files then go to the temporary folder, at every start.";
				return accessible(cache, constants.W_OK, [cache, `${cache} cannot be written`, fix]);
			},
		},
		{
			name: "git",
			weight: "want",
			look: program("git", ["--version"], "Without git, base and head must be folders."),
		},
		...checksOfTensorRt(findTrtexec(finding), "", "--trtexec"),
		...(base === undefined
			? []
			: checksOfTensorRt(
					findTrtexec({ ...finding, libraries: undefined, ...base }),
					" of the base",
					"`base.trtexec`",
					base.python,
				)),
		{ name: "GPU", weight: "want", look: () => lookForGpu(processes, nvidiaSmi) },
	];
}

async function lookForGpu(processes: Processes, nvidiaSmi: Check["look"]): ReturnType<Check["look"]> {
	const board = await readBoard(processes);
	if (board === null) return nvidiaSmi();
	const { state } = await processes.run({ argv: ["tegrastats", "--help"], timeoutMs: 10_000 });
	const {
		board: model = "a Jetson",
		l4t = "of an unknown release",
		powerMode = "unknown",
		gpuClock = "unknown",
	} = boardFingerprint(board);
	const watched = state === "not-started" ? "; tegrastats is missing" : "";
	return {
		ok: board.powerMode !== null && watched === "",
		status: cleanLine(`${model}, L4T ${l4t}, power mode ${powerMode}, GPU clock ${gpuClock}${watched}`),
		fix: "Without nvpmodel and tegrastats, power mode, clocks and power are unknown: in a container, mount /usr/sbin/nvpmodel, /usr/bin/tegrastats, /etc/nvpmodel.conf and /etc/nv_tegra_release.",
	};
}

function checksOfTensorRt(
	finding: Promise<Found>,
	whose: "" | " of the base",
	option: string,
	python = "python3",
): Check[] {
	return [
		{
			name: `trtexec${whose}`,
			weight: whose === "" ? "want" : "need",
			look: async () => describeTrtexec(await finding, option),
		},
		{
			name: `TensorRT in Python${whose}`,
			weight: "want",
			look: async () => lookForWorker(python, await finding),
		},
	];
}

async function describeTrtexec(found: Found, option: string) {
	if (found.state === "found") {
		const { program, version } = found.trtexec;
		const status = `TensorRT ${version.text}, ${program}`;
		const library = await missingLibrary(found.trtexec, found.processes);
		if (library === null) return { ok: true, status };
		const why = `the loader does not find ${library}`;
		return { ok: false, status: `${status}; ${why}`, fix: libraryAdvice([{ program, why, library }]) };
	}
	const [only, ...others] = found.tried;
	const broken = found.tried
		.filter(({ why }) => why !== "does not exist")
		.map(({ program, why }) => `${program} ${why}`);
	const isNamed = only !== undefined && others.length === 0;
	const absent = isNamed ? `${only.program} does not exist` : "not on PATH nor in a usual folder";
	const install = `Install TensorRT with its programs, or name trtexec with ${option}; the Python wheels have none.`;
	const fix = libraryAdvice(found.tried) ?? install;
	return { ok: false, status: cleanLine(broken.join("; ") || absent), fix };
}

async function lookForWorker(python: string, found: Found) {
	const options = { python, workerPath: tensorRtWorkerPath(), processes: found.processes };
	const probed = await tensorRtWorker(options).probe();
	const fix = "Without it, golden cases run in trtexec, one process each.";
	if ("absent" in probed) return { ok: false, status: cleanLine(probed.absent), fix };
	const wanted = found.state === "found" ? found.trtexec.version.text : null;
	const isOther = wanted !== null && parseVersionText(probed.tensorrt)?.text !== wanted;
	const status = `${probed.tensorrt}, ${probed.device}${isOther ? `; trtexec is of ${wanted}` : ""}`;
	return { ok: !isOther, status, fix };
}

async function accessible(path: string, mode: number, [found, lost, fix]: [string, string, string]) {
	return access(path, mode).then(
		() => ({ ok: true, status: found, fix }),
		() => ({ ok: false, status: lost, fix }),
	);
}

/** With the build of an engine on a slow machine. */
const mostMs = 10 * 60_000;
/** Ten runs and their starts take a minute. */
const measure =
	"measure: { pairs: [5], warm-up: 1s, duration: 3s, identical-engines: measure, unchanged-models: rebuild }";

async function measureNoise(
	machine: { trtexec?: string; device?: string; model?: string; quiet: boolean },
	terminal: Terminal,
): Promise<NoiseFinding[]> {
	const { model: given, quiet, trtexec, device } = machine;
	const backend = await readBackend(machine, terminal);
	if (backend.kind !== "tensorrt")
		return [
			{
				name: "noise",
				ok: true,
				status:
					"nothing to time: without TensorRT and a GPU, work is counted. Counts are exact on every machine, so noise does not matter here",
			},
		];
	const path =
		given === undefined
			? join(await examplesAt("quickstart"), "base", "models", "segmenter.onnx")
			: resolve(terminal.cwd, given);
	const model = await readModel(path);
	const known = await chooseInitSizes(model, { dims: {}, inputs: {} }, { ...terminal, quiet: true });
	const [variant] = precisionVariants(model, {
		tensorrt: backend.version,
		computeCapability: backend.computeCapability,
	});
	const found = findDims(model.onnx, known);
	const dims = found.dims.map((dim) => ({ ...dim, range: fixedRange(dim.range.opt) }));
	return inNewFolder("trtgate-noise-", async (folder) => {
		const onnx = basename((await placeModel(model, folder)).path);
		const tuned = { name: "noise", onnx, found: { ...found, dims } };
		const lines = modelLines(tuned, variant === undefined ? [] : [variant]);
		const text = `version: 1\nbackend: tensorrt\n${lines}${measure}\nprobes: off\n`;
		await fileStore().writeText(join(folder, "trtgate.yml"), text);
		const options = {
			...{ base: ".", head: ".", config: "trtgate.yml", out: "out" },
			inputs: device === undefined ? ({} as Record<string, string>) : { device },
			progress: progressFor(terminal, { quiet }),
			trtexec,
		};
		const result = await runTrial(options, systemClock().now() + mostMs, { ...terminal, cwd: folder });
		const [row] = result.workloads;
		if (row !== undefined) return noiseFindings(row);
		const why = result.errors[0]?.message ?? result.builds[0]?.failure?.title ?? "no run was timed";
		return [{ name: "noise", ok: false, status: `not measured: ${why}` }];
	});
}

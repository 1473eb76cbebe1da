// Finds trtexec and the GPU that it will use.
import { readdir, readFile, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { findGpu, type Gpu } from "../../formats/nvidia-smi/gpus.ts";
import type { DeviceRead, TegraBoard } from "../../formats/tegra/tegrastats.ts";
import { parseDeviceSection, parseVersionLine, type TensorRtVersion } from "../../formats/trtexec/banner.ts";
import type { Processes } from "../process/processes.ts";

export interface Trtexec {
	program: string;
	version: TensorRtVersion;
}

export interface FindOptions {
	trtexec?: string;
	cwd: string;
	environment?: { home?: string; libraryPath?: string };
	processes: Processes;
	libraries?: string;
	installFolders?: readonly string[];
}

interface Tried {
	program: string;
	why: string;
	library?: string;
}

/** `processes` have the folder of this TensorRT's shared libraries before the environment's. */
export type Found =
	| { state: "found"; trtexec: Trtexec; processes: Processes }
	| { state: "missing"; tried: readonly Tried[]; processes: Processes };

export const newestKnownMajor = 11;

const usualFolders = ["/usr/src/tensorrt/bin", "/opt/tensorrt/bin", "/usr/local/tensorrt/bin"];
const unpackedIn = ["/opt", "/usr/local", "/usr/src"];
const probeTimeoutMs = 60_000;

export async function findTrtexec(options: FindOptions): Promise<Found> {
	const tried: Tried[] = [];
	for (const program of await candidates(options)) {
		const processes = await withLibraries(program, options);
		const probed = await probe(program, processes);
		if ("major" in probed) return { state: "found", trtexec: { program, version: probed }, processes };
		tried.push({ program, ...probed });
	}
	return { state: "missing", tried, processes: options.processes };
}

async function candidates({ trtexec: wanted, cwd, environment, installFolders }: FindOptions) {
	const home = environment?.home;
	if (wanted !== undefined)
		return [wanted.includes("/") && !isAbsolute(wanted) ? resolve(cwd, wanted) : wanted];
	const folders = installFolders ?? [
		...usualFolders,
		...(await unpacked(home === undefined ? unpackedIn : [...unpackedIn, home])),
	];
	return ["trtexec", ...folders.map((folder) => join(folder, "trtexec"))];
}

async function unpacked(parents: readonly string[]) {
	const found: { name: string; folder: string }[] = [];
	for (const parent of parents)
		for (const name of await readdir(parent).catch(() => []))
			if (/^TensorRT-\d/.test(name)) found.push({ name, folder: join(parent, name) });
	found.sort((one, other) => other.name.localeCompare(one.name, "en", { numeric: true }));
	return found.flatMap(({ folder }) =>
		["bin", "targets/x86_64-linux-gnu/bin", "targets/aarch64-linux-gnu/bin"].map((at) => join(folder, at)),
	);
}

/** Programs from an archive need LD_LIBRARY_PATH, in which no other version may come first. */
async function withLibraries(
	program: string,
	{ processes, libraries, environment, cwd }: FindOptions,
): Promise<Processes> {
	const folder =
		libraries === undefined ? await librariesBeside(program, processes) : resolve(cwd, libraries);
	if (folder === null) return processes;
	const env = { LD_LIBRARY_PATH: [folder, environment?.libraryPath].filter(Boolean).join(":") };
	return { ...processes, run: (job) => processes.run({ ...job, env: { ...env, ...job.env } }) };
}

async function librariesBeside(named: string, processes: Processes) {
	const program = named.includes("/") ? named : await pathOf(named, processes);
	if (program === undefined) return null;
	const folder = join(dirname(await realpath(program).catch(() => program)), "..", "lib");
	const names = await readdir(folder).catch(() => []);
	return names.some((name) => name.startsWith("libnvinfer.so")) ? folder : null;
}

async function pathOf(name: string, processes: Processes) {
	const { tail } = await processes.run({
		argv: ["/bin/sh", "-c", 'command -v "$0"', name],
		timeoutMs: probeTimeoutMs,
	});
	return tail.find((line) => line.startsWith("/"));
}

const opened = /lib(?:nvinfer|nvinfer_plugin|nvonnxparser)\.so\.(?=\0)/g;
const unloaded = /object '([^']+)' from LD_PRELOAD cannot be preloaded/;

/** trtexec opens its libraries only when it builds: the loader says in advance what is missing, theirs included. */
export async function missingLibrary(
	{ program: named, version }: Trtexec,
	processes: Processes,
): Promise<string | null> {
	const program = named.includes("/") ? named : await pathOf(named, processes);
	const bytes = program === undefined ? "" : await readFile(program, "latin1").catch(() => "");
	// A script may set the path of its libraries itself.
	const names = bytes.startsWith("\u007fELF") ? new Set(bytes.match(opened)) : new Set();
	if (program === undefined || names.size === 0) return null;
	let missing: string | undefined;
	await processes.run({
		argv: [program, "--help"],
		timeoutMs: probeTimeoutMs,
		env: { LD_PRELOAD: [...names].map((name) => `${name}${version.major}`).join(":") },
		onLine: (line) => {
			missing ??= unloaded.exec(line)?.[1] ?? unfound.exec(line)?.[1];
		},
	});
	return missing?.replace(/[^\w.+-]/g, "") ?? null;
}

const unfound = /error while loading shared libraries: ([^\s:]+)/;

export function libraryAdvice(tried: readonly Tried[]): string | undefined {
	const library = tried.find((one) => one.library !== undefined)?.library;
	if (library === undefined) return undefined;
	return `Find the folder of ${library} (\`find / -name '${library}*'\`), and name it in LD_LIBRARY_PATH or in the config: \`libraries\`, or \`base.libraries\` for the base's trtexec.`;
}

/** Or why there is none. Help needs no GPU, and names the version in every release. */
async function probe(
	program: string,
	processes: Processes,
): Promise<TensorRtVersion | Omit<Tried, "program">> {
	let version: TensorRtVersion | null = null;
	const record = await processes.run({
		argv: [program, "--help"],
		timeoutMs: probeTimeoutMs,
		onLine: (line) => {
			version ??= parseVersionLine(line);
		},
	});
	if (version !== null) return version;
	if (record.state === "not-started")
		return { why: record.problem.includes("EACCES") ? "is not executable" : "does not exist" };
	const { state, exitCode, tail } = record;
	const how = state === "exited" ? `ended with exit code ${exitCode ?? "unknown"}` : `was ${state}`;
	const library = tail
		.map((line) => unfound.exec(line)?.[1])
		.find(Boolean)
		?.replace(/[^\w.+-]/g, "");
	if (library !== undefined) return { why: `does not start: the loader does not find ${library}`, library };
	const last = tail.at(-1);
	const why = `${how} and named no version${last === undefined ? "" : `: ${last.slice(0, 300)}`}`;
	return { why };
}

export async function readTegraDevice(
	{ program }: Trtexec,
	{ board, wanted }: { board: TegraBoard; wanted?: string },
	processes: Processes,
): Promise<DeviceRead> {
	const record = await processes.run({
		argv: [program, "--onnx=/nonexistent/model.onnx"],
		timeoutMs: probeTimeoutMs,
		captureBytes: 1024 * 1024,
	});
	const device = parseDeviceSection(record.stdout);
	if (device === null) return { state: "unknown" };
	const { uuid, ...facts } = device;
	const unknown = { powerLimitW: null, mig: null, ecc: null, displayActive: null, slices: [] };
	const gpu: Gpu = { index: 0, uuid: uuid ?? "GPU-tegra", ...facts, driver: board.l4t, ...unknown };
	const choice = findGpu([gpu], wanted);
	return choice === null ? { state: "none" } : { state: "found", device: { choice, cuda: null, board } };
}

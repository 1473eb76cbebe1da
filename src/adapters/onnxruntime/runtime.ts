// The ONNX Runtime that runs the models: the WebAssembly build, a native one that the user installed, or one that npm installs, pinned.

import { randomBytes } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { access, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ToolError, usageError } from "../../core/errors.ts";
import { digestOf } from "../process/input-file.ts";
import type { Processes } from "../process/processes.ts";
import { classifyWriteError, errorCode, makeFolders, orWriteError } from "../process/write-error.ts";
import type { Flavour } from "./protocol.ts";

export const ortVersion = "1.30.0";

export interface Runtime {
	flavour: Flavour;
	version: string;
	folder: string;
}

export interface RuntimeChoice
	extends Pick<NativeSource, "cacheFolder" | "processes" | "registry" | "timeoutMs"> {
	/** auto: native if a folder is named, else WebAssembly. native: fetched if no folder is named. */
	flavour: "auto" | Flavour;
	wasmFolder: string;
	/** The user's folder with node_modules/onnxruntime-node. No other is searched, because a pull request could plant one. */
	nativeFolder?: string;
	/** Checkout of an action, in which no native runtime is accepted. */
	untrustedFolder?: string;
	onNative?: (note: string) => void;
}

export async function chooseRuntime(choice: RuntimeChoice): Promise<Runtime> {
	const { flavour, nativeFolder, untrustedFolder, onNative } = choice;
	if (flavour === "wasm" || (flavour === "auto" && nativeFolder === undefined))
		return { flavour: "wasm", version: ortVersion, folder: await wasmFolder(choice) };
	const folder = nativeFolder ?? (await fetchNative(choice));
	const home = nativeHome(folder);
	const version = nativeFolder === undefined ? ortVersion : await checkInstalled(home, untrustedFolder);
	onNative?.(`Models run on the native ONNX Runtime ${version} at ${home}.`);
	return { flavour: "native", version, folder };
}

interface PinnedPackage {
	name: string;
	version: string;
	/** `dist.integrity` of the registry, without `sha512-`. */
	sha512: string;
}

/** The native build and the package that it requires. Its install script and other dependencies are for CUDA and not needed. */
export const pinnedNative: readonly PinnedPackage[] = [
	{
		name: "onnxruntime-node",
		version: ortVersion,
		sha512: "twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==",
	},
	{
		name: "onnxruntime-common",
		version: ortVersion,
		sha512: "7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==",
	},
];

interface NativeSource {
	cacheFolder: string;
	processes: Processes;
	/** Base address of an npm registry; absent: npm's own setting. */
	registry?: string;
	packages?: readonly PinnedPackage[];
	platform?: string;
	arch?: string;
	timeoutMs?: number;
}

/** At 20 Mbit/s the 114 MB take 45 s. */
const installTimeoutMs = 10 * 60_000;

/**
 * @returns the folder from which `onnxruntime-node` resolves.
 * @throws ToolError runtime-fetch, disk-full; ConfigError output-unwritable.
 */
export async function fetchNative(source: NativeSource): Promise<string> {
	const { cacheFolder, platform = process.platform, arch = process.arch } = source;
	const target = join(cacheFolder, `ort-native-${ortVersion}-${platform}-${arch}`);
	if (existsSync(target)) return target;
	const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
	try {
		await install(temporary, source);
		await keepOnly(`${platform}/${arch}`, join(temporary, "node_modules/onnxruntime-node/bin/napi-v6"));
		await rename(temporary, target).catch((error: unknown) => {
			if (!existsSync(target)) throw classifyWriteError(error, target);
		});
		return target;
	} finally {
		await rm(temporary, { recursive: true, force: true }).catch(() => {});
	}
}

async function install(folder: string, source: NativeSource) {
	const { processes, registry, packages = pinnedNative, timeoutMs = installTimeoutMs } = source;
	await makeFolders(folder);
	const wanted = {
		name: "trtgate-onnxruntime",
		dependencies: Object.fromEntries(packages.map(({ name, version }) => [name, version])),
	};
	const locked = packages.map(({ name, version, sha512 }) => {
		return [`node_modules/${name}`, { version, integrity: `sha512-${sha512}` }];
	});
	const lock = { ...wanted, lockfileVersion: 3, packages: { "": wanted, ...Object.fromEntries(locked) } };
	for (const [name, content] of Object.entries({ "package.json": wanted, "package-lock.json": lock }))
		await orWriteError(writeFile(join(folder, name), JSON.stringify(content)), folder);
	const quickly = ["--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
	const from = registry === undefined ? [] : [`--registry=${registry}`];
	const argv = ["npm", "ci", "--ignore-scripts", ...quickly, ...from] as const;
	const { state, exitCode, problem, tail } = await processes.run({ argv, cwd: folder, timeoutMs });
	if (state === "exited" && exitCode === 0) return;
	const ended = state === "exited" ? `npm ci ended with exit code ${exitCode}` : `npm ci was ${state}`;
	throw failed(problem || ended, tail);
}

async function keepOnly(host: string, builds: string) {
	if (!existsSync(join(builds, host))) throw failed(`it has no build for ${host.replace("/", " on ")}`, []);
	for (const platform of await readdir(builds)) {
		for (const arch of await readdir(join(builds, platform))) {
			if (`${platform}/${arch}` !== host)
				await rm(join(builds, platform, arch), { recursive: true, force: true });
		}
	}
}

function failed(why: string, tail: readonly string[]) {
	return new ToolError({
		code: "runtime-fetch",
		message: `The native ONNX Runtime ${ortVersion} cannot be installed: ${why}.`,
		excerpt: tail.slice(-5),
		fix: "Set `onnxruntime: wasm`, name a folder with onnxruntime-node by onnxruntime-folder, or give this machine npm and a registry that it can reach.",
	});
}

/** Resolves the user's folder exactly; Node would also search its parents. */
function nativeHome(folder: string) {
	return join(folder, "node_modules", "onnxruntime-node");
}

/** The version of an ONNX Runtime that the user installed. @throws ConfigError usage. */
async function checkInstalled(home: string, untrustedFolder: string | undefined) {
	const real = await realpath(home).catch(() => home);
	if (untrustedFolder !== undefined && real.startsWith(`${await realpath(untrustedFolder)}/`))
		throw usageError(
			`The ONNX Runtime at ${home} is in the workspace, where a pull request can change it.`,
			"Install it outside, as below RUNNER_TEMP, or leave onnxruntime-folder out.",
		);
	const { platform, arch } = process;
	try {
		await access(join(home, "bin/napi-v6", platform, arch, "onnxruntime_binding.node"), constants.R_OK);
		const { version }: { version?: unknown } = JSON.parse(await readFile(join(home, "package.json"), "utf8"));
		if (typeof version === "string") return version;
	} catch {}
	throw usageError(
		`There is no ONNX Runtime for ${platform} on ${arch} at ${home}.`,
		"Name the folder in which `npm install onnxruntime-node` was run with onnxruntime-folder, or leave it out.",
	);
}

interface PinnedFile {
	name: string;
	bytes: number;
	sha256: string;
}

type Pinned = Readonly<Record<"wasm" | "module" | "api", PinnedFile>>;

/** What WebAssembly needs of onnxruntime-web: its module, with a counter of instructions (scripts/wasm), the script that loads it, and the API as one file. */
export const pinnedWasm: Pinned = {
	wasm: {
		name: "ort-wasm-simd-threaded.wasm",
		bytes: 18_023_949,
		sha256: "1a59b52108df9d528ef2ef7521f6b8196debb5d35dfac4bc259b690741e22fbb",
	},
	module: {
		name: "ort-wasm-simd-threaded.mjs",
		bytes: 24_381,
		sha256: "e13f7f94fc51b4ca72b12faeb1ee95f4ace6dfbc8939bc718aabdc0a27c4299b",
	},
	api: {
		name: "onnxruntime.mjs",
		bytes: 44_904,
		sha256: "69c4627ae4b8033980234dac711a29c3c2ea4f01281299f2eafbd1136ad2e929",
	},
};

interface WasmSource {
	wasmFolder: string;
	cacheFolder: string;
	pinned?: Pinned;
}

/** @throws ToolError tool-missing, tool-output if the shipped files are absent or damaged; ConfigError output-unwritable, ToolError disk-full. */
export async function wasmFolder({
	wasmFolder,
	cacheFolder,
	pinned = pinnedWasm,
}: WasmSource): Promise<string> {
	if (existsSync(join(wasmFolder, pinned.wasm.name))) return wasmFolder;
	const name = `ort-${ortVersion}-${pinned.wasm.sha256.slice(0, 12)}`;
	// If the cache cannot be written, is full, or belongs to someone else, a folder of our own is used.
	const targets = [cacheFolder, join(tmpdir(), `trtgate-${userInfo().uid}`)].map((folder) =>
		join(folder, name),
	);
	for (const target of targets) if (await holds(target, pinned)) return target;
	const files: Unpacked[] = [];
	for (const file of Object.values(pinned))
		files.push(await shipped(file, join(wasmFolder, `${file.name}${file === pinned.wasm ? ".gz" : ""}`)));
	let problem: unknown;
	for (const target of targets) {
		try {
			return await place(target, files, pinned);
		} catch (error) {
			problem ??= error;
		}
	}
	throw problem;
}

interface Unpacked {
	name: string;
	bytes: Uint8Array;
}

async function shipped(file: PinnedFile, path: string) {
	const broken = (code: "tool-missing" | "tool-output", what: string, cause?: unknown) => {
		const message = `ONNX Runtime's file ${what}.`;
		return new ToolError({ code, message, cause, fix: "Install trtgate again: this file ships with it." });
	};
	const other = `${file.name} is not the one that was shipped`;
	const packed = await readFile(path).catch((cause: unknown) => {
		throw broken("tool-missing", `${path} cannot be read (${errorCode(cause)})`, cause);
	});
	const unpack = async () => promisify(gunzip)(packed, { maxOutputLength: file.bytes });
	const bytes = path.endsWith(".gz")
		? await unpack().catch((cause: unknown) => {
				throw broken("tool-output", other, cause);
			})
		: packed;
	if (!fits(bytes, file)) throw broken("tool-output", other);
	return { name: file.name, bytes };
}

/** Two processes may do this at once; the first rename wins, and the other finds the same bytes. */
async function place(target: string, files: readonly Unpacked[], pinned: Pinned) {
	const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
	try {
		await makeFolders(temporary);
		for (const { name, bytes } of files) {
			const path = join(temporary, name);
			await orWriteError(writeFile(path, bytes), path);
		}
		await rename(temporary, target).catch(async (error: unknown) => {
			if (await holds(target, pinned)) return;
			if (errorCode(error) !== "ENOTEMPTY" && errorCode(error) !== "EEXIST") throw error;
			const aside = `${temporary}.old`;
			await rename(target, aside);
			await rename(temporary, target);
			await rm(aside, { recursive: true, force: true });
		});
		return target;
	} finally {
		await rm(temporary, { recursive: true, force: true }).catch(() => {});
	}
}

async function holds(folder: string, pinned: Pinned) {
	for (const file of Object.values(pinned)) {
		const bytes = await readFile(join(folder, file.name)).catch(() => null);
		if (bytes === null || !fits(bytes, file)) return false;
	}
	return true;
}

function fits(bytes: Uint8Array, file: PinnedFile) {
	return bytes.length === file.bytes && digestOf(bytes) === file.sha256;
}

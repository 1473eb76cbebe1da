// Installs the native ONNX Runtime with npm into the cache folder, pinned by a lock file, and keeps only the files for this machine.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "../../core/errors.ts";
import type { Processes } from "../process/processes.ts";
import { classifyWriteError, makeFolders, orWriteError } from "../process/write-error.ts";
import { ortVersion, type PinnedPackage, pinnedNative } from "./pinned.ts";

export interface NativeSource {
	cacheFolder: string;
	processes: Processes;
	/** Base address of an npm registry; absent: npm's own setting. */
	registry?: string | undefined;
	/** For tests; else the packages of the pinned version. */
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
			// Another run finished first.
			if (!existsSync(target)) throw classifyWriteError(error, target);
		});
		return target;
	} finally {
		await rm(temporary, { recursive: true, force: true }).catch(() => {});
	}
}

async function install(folder: string, source: NativeSource): Promise<void> {
	const { processes, registry, packages = pinnedNative, timeoutMs = installTimeoutMs } = source;
	await makeFolders(folder);
	const wanted = {
		name: "trtgate-onnxruntime",
		dependencies: Object.fromEntries(packages.map(({ name, version }) => [name, version])),
	};
	// Without the packages' own dependencies: they are for CUDA and not needed.
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

async function keepOnly(host: string, builds: string): Promise<void> {
	if (!existsSync(join(builds, host))) throw failed(`it has no build for ${host.replace("/", " on ")}`, []);
	for (const platform of await readdir(builds)) {
		for (const arch of await readdir(join(builds, platform))) {
			if (`${platform}/${arch}` !== host)
				await rm(join(builds, platform, arch), { recursive: true, force: true });
		}
	}
}

function failed(why: string, tail: readonly string[]): ToolError {
	return new ToolError({
		code: "runtime-fetch",
		message: `The native ONNX Runtime ${ortVersion} cannot be installed: ${why}.`,
		excerpt: tail.slice(-5),
		fix: "Set `onnxruntime: wasm`, name a folder with onnxruntime-node by onnxruntime-folder, or give this machine npm and a registry that it can reach.",
	});
}

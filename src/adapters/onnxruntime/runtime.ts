// Decides which ONNX Runtime runs the models, and where its files are.
import { constants } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Processes } from "../process/processes.ts";
import { fetchNative } from "./native-fetch.ts";
import { ortVersion } from "./pinned.ts";
import type { Flavour } from "./protocol.ts";
import { wasmFolder } from "./wasm-files.ts";

export interface Runtime {
	flavour: Flavour;
	version: string;
	/** As the worker's job names it. */
	folder: string;
}

export interface RuntimeChoice {
	/** auto: native where it is installed, else WebAssembly. native: fetched where it is not installed. */
	flavour: "auto" | Flavour;
	wasmFolder: string;
	cacheFolder: string;
	/** Folders in which to look for an installed onnxruntime-node. */
	nativeFolders: readonly string[];
	registry?: string | undefined;
	processes: Processes;
}

/** @throws ToolError runtime-fetch, tool-missing, tool-output, disk-full; ConfigError output-unwritable. */
export async function chooseRuntime(choice: RuntimeChoice): Promise<Runtime> {
	if (choice.flavour !== "wasm") {
		const installed = await findInstalled(choice.nativeFolders);
		if (installed !== null) return installed;
	}
	if (choice.flavour === "native") return { flavour: "native", version: ortVersion, folder: await fetchNative(choice) };
	return { flavour: "wasm", version: ortVersion, folder: await wasmFolder(choice) };
}

async function findInstalled(folders: readonly string[]): Promise<Runtime | null> {
	for (const folder of folders) {
		const version = await installedVersion(folder);
		if (version !== null) return { flavour: "native", version, folder };
	}
	return null;
}

/** null: not installed, or not for this machine. */
async function installedVersion(folder: string): Promise<string | null> {
	try {
		const manifest = createRequire(join(folder, "resolve.js")).resolve("onnxruntime-node/package.json");
		const addon = join(dirname(manifest), "bin/napi-v6", process.platform, process.arch, "onnxruntime_binding.node");
		await access(addon, constants.R_OK);
		const { version }: { version?: unknown } = JSON.parse(await readFile(manifest, "utf8"));
		return typeof version === "string" ? version : null;
	} catch {
		return null;
	}
}

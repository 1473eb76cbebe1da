// Decides which ONNX Runtime runs the models, and where its files are.
import { constants } from "node:fs";
import { access, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../core/errors.ts";
import type { Processes } from "../process/processes.ts";
import { fetchNative } from "./native-fetch.ts";
import { ortVersion } from "./pinned.ts";
import type { Flavour } from "./protocol.ts";
import { wasmFolder } from "./wasm-files.ts";

export interface Runtime {
	flavour: Flavour;
	version: string;
	folder: string;
}

export interface RuntimeChoice {
	/** auto: native where a folder is named, else WebAssembly. native: fetched where no folder is named. */
	flavour: "auto" | Flavour;
	wasmFolder: string;
	cacheFolder: string;
	/** A folder with node_modules/onnxruntime-node, which the user names. Nothing is looked for elsewhere: a pull request could bring it. */
	nativeFolder?: string | undefined;
	/** No native runtime is taken from here: the checkout of an action. */
	untrustedFolder?: string | undefined;
	registry?: string | undefined;
	processes: Processes;
	/** Called where the runtime is not the one that ships with trtgate: which it is, and where it lies. */
	onNative?(note: string): void;
}

/** @throws ToolError runtime-fetch, tool-missing, tool-output, disk-full; ConfigError usage, output-unwritable. */
export async function chooseRuntime(choice: RuntimeChoice): Promise<Runtime> {
	const { flavour, nativeFolder } = choice;
	if (flavour === "wasm" || (flavour === "auto" && nativeFolder === undefined))
		return { flavour: "wasm", version: ortVersion, folder: await wasmFolder(choice) };
	const folder = nativeFolder ?? (await fetchNative(choice));
	const version =
		nativeFolder === undefined ? ortVersion : await checkInstalled(homeIn(nativeFolder), choice);
	choice.onNative?.(`Models run on the native ONNX Runtime ${version} at ${homeIn(folder)}.`);
	return { flavour: "native", version, folder };
}

/** Exactly there: Node would go on looking in the folders above. */
function homeIn(folder: string): string {
	return join(folder, "node_modules", "onnxruntime-node");
}

async function checkInstalled(home: string, { untrustedFolder }: RuntimeChoice): Promise<string> {
	const real = await realpath(home).catch(() => home);
	const untrusted = untrustedFolder === undefined ? null : await realpath(untrustedFolder);
	if (untrusted !== null && real.startsWith(`${untrusted}/`))
		throw usageError(
			`The ONNX Runtime at ${home} is in the workspace, where a pull request can change it.`,
			"Install it outside, as below RUNNER_TEMP, or leave onnxruntime-folder out.",
		);
	const version = await installedVersion(home);
	if (version !== null) return version;
	throw usageError(
		`There is no ONNX Runtime for ${process.platform} on ${process.arch} at ${home}.`,
		"Name the folder in which `npm install onnxruntime-node` was run with onnxruntime-folder, or leave it out.",
	);
}

/** null: not installed, or not for this machine. */
async function installedVersion(home: string): Promise<string | null> {
	try {
		await access(
			join(home, "bin/napi-v6", process.platform, process.arch, "onnxruntime_binding.node"),
			constants.R_OK,
		);
		const { version }: { version?: unknown } = JSON.parse(await readFile(join(home, "package.json"), "utf8"));
		return typeof version === "string" ? version : null;
	} catch {
		return null;
	}
}

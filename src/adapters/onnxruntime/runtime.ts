// Decides which ONNX Runtime runs the models, and where its files are.
import { checkInstalled, fetchNative, type NativeSource, nativeHome } from "./native.ts";
import type { Flavour } from "./protocol.ts";
import { ortVersion, wasmFolder } from "./wasm-files.ts";

export interface Runtime {
	flavour: Flavour;
	version: string;
	folder: string;
}

export interface RuntimeChoice extends Pick<NativeSource, "cacheFolder" | "processes" | "registry"> {
	/** auto: native where a folder is named, else WebAssembly. native: fetched where no folder is named. */
	flavour: "auto" | Flavour;
	wasmFolder: string;
	/** A folder with node_modules/onnxruntime-node, which the user names. Nothing is looked for elsewhere: a pull request could bring it. */
	nativeFolder?: string | undefined;
	/** No native runtime is taken from here: the checkout of an action. */
	untrustedFolder?: string | undefined;
	/** Called where the runtime is not the one that ships with trtgate: which it is, and where it lies. */
	onNative?(note: string): void;
}

/** @throws ToolError runtime-fetch, tool-missing, tool-output, disk-full; ConfigError usage, output-unwritable. */
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

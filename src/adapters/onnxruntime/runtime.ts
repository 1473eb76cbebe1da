// Decides which ONNX Runtime runs the models, and where its files are.
import { checkInstalled, fetchNative, type NativeSource, nativeHome } from "./native.ts";
import type { Flavour } from "./protocol.ts";
import { ortVersion, wasmFolder } from "./wasm-files.ts";

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
	nativeFolder?: string | undefined;
	/** Checkout of an action, in which no native runtime is accepted. */
	untrustedFolder?: string | undefined;
	/** Called with the runtime and its folder if it is not the one that ships with trtgate. */
	onNative?: ((note: string) => void) | undefined;
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

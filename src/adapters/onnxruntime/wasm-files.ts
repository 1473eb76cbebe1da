// Finds the folder with ONNX Runtime's WebAssembly files; unpacks the gzipped ones that ship with trtgate, once for each machine.

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ToolError } from "../../core/errors.ts";
import { digestOf } from "../process/input-file.ts";
import { errorCode, makeFolders, orWriteError } from "../process/write-error.ts";

interface PinnedFile {
	name: string;
	bytes: number;
	sha256: string;
}

type Pinned = Readonly<Record<"wasm" | "module" | "api", PinnedFile>>;

export const ortVersion = "1.30.0";

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
			return await install(target, files, pinned);
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
async function install(target: string, files: readonly Unpacked[], pinned: Pinned) {
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

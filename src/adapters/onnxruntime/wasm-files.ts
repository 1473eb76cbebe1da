// Finds the folder with ONNX Runtime's WebAssembly files; unpacks the gzipped ones that ship with trtgate, once for each machine.
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { ToolError } from "../../core/errors.ts";
import { errorCode, makeFolders, orWriteError } from "../process/write-error.ts";
import { type PinnedFile, pinnedWasm } from "./pinned.ts";

export interface WasmSource {
	wasmFolder: string;
	cacheFolder: string;
	/** For tests; else the files of the pinned version. */
	pinned?: { version: string; wasm: PinnedFile; module: PinnedFile };
}

/** @throws ToolError tool-missing, tool-output where the shipped files are absent or damaged; ConfigError output-unwritable, ToolError disk-full. */
export async function wasmFolder(source: WasmSource): Promise<string> {
	const pinned = source.pinned ?? pinnedWasm;
	if (existsSync(join(source.wasmFolder, pinned.wasm.name))) return source.wasmFolder;
	const name = `ort-${pinned.version}-${pinned.wasm.sha256.slice(0, 12)}`;
	// A cache that cannot be written, is full, or is someone else's: a folder of our own does as well.
	const folders = [source.cacheFolder, join(tmpdir(), `trtgate-${userInfo().uid}`)];
	for (const folder of folders) {
		if (await holds(join(folder, name), pinned)) return join(folder, name);
	}
	const files = await unpack(source.wasmFolder, pinned);
	let problem: unknown;
	for (const folder of folders) {
		try {
			return await install(join(folder, name), files, pinned);
		} catch (error) {
			problem ??= error;
		}
	}
	throw problem;
}

type Pinned = NonNullable<WasmSource["pinned"]>;
type Unpacked = readonly { name: string; bytes: Uint8Array }[];

async function unpack(folder: string, { wasm, module }: Pinned): Promise<Unpacked> {
	const packed = await readShipped(join(folder, `${wasm.name}.gz`));
	const unpacked = await promisify(gunzip)(packed, { maxOutputLength: wasm.bytes }).catch(
		(cause: unknown) => {
			throw broken("tool-output", `ONNX Runtime's file ${wasm.name} is not the one that was shipped.`, cause);
		},
	);
	const files = [
		{ file: wasm, bytes: unpacked },
		{ file: module, bytes: await readShipped(join(folder, module.name)) },
	];
	return files.map(({ file, bytes }) => {
		if (fits(bytes, file)) return { name: file.name, bytes };
		throw broken("tool-output", `ONNX Runtime's file ${file.name} is not the one that was shipped.`);
	});
}

async function readShipped(path: string): Promise<Uint8Array> {
	return readFile(path).catch((cause: unknown) => {
		throw broken("tool-missing", `ONNX Runtime's file ${path} cannot be read (${errorCode(cause)}).`, cause);
	});
}

function broken(code: "tool-missing" | "tool-output", message: string, cause?: unknown): ToolError {
	return new ToolError({ code, message, cause, fix: "Install trtgate again: this file ships with it." });
}

/** Two processes may do this at once: the first rename wins, and the other process finds the same bytes there. */
async function install(target: string, files: Unpacked, pinned: Pinned): Promise<string> {
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

async function holds(folder: string, { wasm, module }: Pinned): Promise<boolean> {
	for (const file of [wasm, module]) {
		const bytes = await readFile(join(folder, file.name)).catch(() => null);
		if (bytes === null || !fits(bytes, file)) return false;
	}
	return true;
}

function fits(bytes: Uint8Array, file: PinnedFile): boolean {
	return bytes.length === file.bytes && createHash("sha256").update(bytes).digest("hex") === file.sha256;
}

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

async function unpack(folder: string, pinned: Pinned): Promise<Unpacked> {
	const packed = await readShipped(join(folder, `${pinned.wasm.name}.gz`));
	const wasm = await promisify(gunzip)(packed, { maxOutputLength: pinned.wasm.bytes }).catch(
		(error: unknown) => {
			throw damaged(pinned.wasm.name, error);
		},
	);
	const module = await readShipped(join(folder, pinned.module.name));
	if (!fits(wasm, pinned.wasm)) throw damaged(pinned.wasm.name);
	if (!fits(module, pinned.module)) throw damaged(pinned.module.name);
	return [
		{ name: pinned.wasm.name, bytes: wasm },
		{ name: pinned.module.name, bytes: module },
	];
}

async function readShipped(path: string): Promise<Uint8Array> {
	try {
		return await readFile(path);
	} catch (error) {
		const message = `ONNX Runtime's file ${path} cannot be read (${errorCode(error)}).`;
		throw new ToolError({
			code: "tool-missing",
			message,
			cause: error,
			fix: "Install trtgate again: this file ships with it.",
		});
	}
}

function damaged(name: string, cause?: unknown): ToolError {
	return new ToolError({
		code: "tool-output",
		message: `ONNX Runtime's file ${name} is not the one that was shipped.`,
		cause,
		fix: "Install trtgate again: this file ships with it.",
	});
}

/** Two processes may do this at once: the first rename wins, and the other process finds the same bytes there. */
async function install(target: string, files: Unpacked, pinned: Pinned): Promise<string> {
	const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
	try {
		await makeFolders(temporary);
		await writeFiles(temporary, files);
		await rename(temporary, target).catch(async (error: unknown) => {
			if (await holds(target, pinned)) return;
			if (errorCode(error) !== "ENOTEMPTY" && errorCode(error) !== "EEXIST") throw error;
			await replaceDamaged(temporary, target);
		});
		return target;
	} finally {
		await rm(temporary, { recursive: true, force: true }).catch(() => {});
	}
}

async function replaceDamaged(temporary: string, target: string): Promise<void> {
	const aside = `${temporary}.old`;
	await rename(target, aside);
	await rename(temporary, target);
	await rm(aside, { recursive: true, force: true });
}

async function writeFiles(folder: string, files: Unpacked): Promise<void> {
	for (const { name, bytes } of files) {
		const path = join(folder, name);
		await orWriteError(writeFile(path, bytes), path);
	}
}

async function holds(folder: string, pinned: Pinned): Promise<boolean> {
	return (
		(await fileFits(join(folder, pinned.wasm.name), pinned.wasm)) &&
		(await fileFits(join(folder, pinned.module.name), pinned.module))
	);
}

async function fileFits(path: string, file: PinnedFile): Promise<boolean> {
	try {
		return fits(await readFile(path), file);
	} catch {
		return false;
	}
}

function fits(bytes: Uint8Array, file: PinnedFile): boolean {
	return bytes.length === file.bytes && createHash("sha256").update(bytes).digest("hex") === file.sha256;
}

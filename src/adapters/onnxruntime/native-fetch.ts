// Fetches the native ONNX Runtime from the npm registry, pinned by hash, and keeps only the files for this machine.

import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { createGunzip } from "node:zlib";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { classifyWriteError } from "../process/write-error.ts";
import { defaultRegistry, ortVersion, type PinnedPackage, pinnedNative } from "./pinned.ts";
import { untar } from "./tar.ts";

export interface NativeSource {
	cacheFolder: string;
	/** Base address of an npm registry; absent: the public one. */
	registry?: string | undefined;
	/** For tests; else the packages of the pinned version. */
	packages?: readonly PinnedPackage[];
	platform?: string;
	arch?: string;
	timeoutMs?: number;
	onBytes?(received: number, total: number | null): void;
}

/** At 20 Mbit/s the 114 MB take 45 s. */
const fetchTimeoutMs = 10 * 60_000;

/**
 * @returns the folder from which `onnxruntime-node` resolves.
 * @throws ToolError runtime-fetch, disk-full; ConfigError output-unwritable.
 */
export async function fetchNative(source: NativeSource): Promise<string> {
	const [platform, arch] = [source.platform ?? process.platform, source.arch ?? process.arch];
	const target = join(source.cacheFolder, `ort-native-${ortVersion}-${platform}-${arch}`);
	if (isThere(target)) return target;
	const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
	try {
		for (const pinned of source.packages ?? pinnedNative) await fetchPackage(pinned, temporary, { ...source, platform, arch });
		await rename(temporary, target).catch(async (error: unknown) => {
			// Another run finished first.
			if (!isThere(target)) throw classifyWriteError(error, target);
		});
		return target;
	} finally {
		await rm(temporary, { recursive: true, force: true }).catch(() => {});
	}
}

function isThere(folder: string): boolean {
	return existsSync(join(folder, "node_modules/onnxruntime-common/package.json"));
}

type HostSource = NativeSource & { platform: string; arch: string };

async function fetchPackage(pinned: PinnedPackage, folder: string, source: HostSource): Promise<void> {
	const url = `${(source.registry ?? defaultRegistry).replace(/\/+$/, "")}/${pinned.name}/-/${pinned.name}-${pinned.version}.tgz`;
	const host = `bin/napi-v6/${source.platform}/${source.arch}/`;
	let files = 0;
	const wants = (path: string): boolean => {
		const wanted = path === "package.json" || (path.startsWith("dist/") && /\.js$|package\.json$/.test(path)) || path.startsWith(host);
		if (wanted && path.endsWith(".node")) files += 1;
		return wanted;
	};
	const body = await request(url, source);
	const watch = watchBytes(pinned, body.total, source.onBytes);
	try {
		await pipeline(body.stream, watch.stream, createGunzip(), untar({ folder: join(folder, "node_modules", pinned.name), wants }));
	} catch (error) {
		if (error instanceof ConfigError || error instanceof ToolError) throw error;
		const known = classifyWriteError(error, folder);
		throw known === error ? explain(error, url) : known;
	}
	const sha512 = watch.digest();
	if (sha512 !== pinned.sha512) throw failed(url, { what: `its contents have the SHA-512 ${sha512}, not the published ${pinned.sha512}` });
	if (pinned.name === "onnxruntime-node" && files === 0)
		throw failed(url, { what: `it has no build for ${source.platform} on ${source.arch}` });
}

async function request(url: string, source: NativeSource): Promise<{ stream: Readable; total: number | null }> {
	let response: Response;
	try {
		response = await fetch(url, { signal: AbortSignal.timeout(source.timeoutMs ?? fetchTimeoutMs) });
	} catch (error) {
		throw explain(error, url);
	}
	if (!response.ok || response.body === null) {
		await response.body?.cancel();
		throw failed(url, { what: `the server answers ${response.status} ${response.statusText}` });
	}
	const length = Number(response.headers.get("content-length") ?? Number.NaN);
	return { stream: Readable.fromWeb(response.body as ReadableStream), total: Number.isFinite(length) ? length : null };
}

function watchBytes(
	pinned: PinnedPackage,
	total: number | null,
	onBytes: NativeSource["onBytes"],
): { stream: Transform; digest(): string } {
	const hash = createHash("sha512");
	let received = 0;
	const stream = new Transform({
		transform(chunk: Buffer, _encoding, callback) {
			received += chunk.length;
			hash.update(chunk);
			onBytes?.(received, total);
			if (received > pinned.maxBytes) callback(new Error(`it is longer than ${pinned.maxBytes} bytes`));
			else callback(null, chunk);
		},
	});
	return { stream, digest: () => hash.digest("base64") };
}

function explain(error: unknown, url: string): ToolError {
	const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
	return failed(url, { what: cause instanceof Error ? cause.message : String(cause), cause: error });
}

function failed(url: string, { what, cause }: { what: string; cause?: unknown }): ToolError {
	const fix =
		"Set `onnxruntime: wasm`, name a folder with onnxruntime-node by onnxruntime-folder, or name a registry that this machine can reach.";
	return new ToolError({ code: "runtime-fetch", message: `Cannot fetch the native ONNX Runtime from ${url}: ${what}.`, cause, fix });
}

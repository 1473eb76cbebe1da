// Streams a child's output to a log file of bounded size.
import { createWriteStream } from "node:fs";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { classifyWriteError, makeFolders } from "./write-error.ts";

export type LogFile = Awaited<ReturnType<typeof openLog>>;

/** @throws ConfigError output-unwritable, ToolError disk-full. */
export async function openLog(path: string, capBytes: number) {
	const stream = await openStream(path);
	let failed: unknown;
	let left = capBytes;
	const waiting = new Set<Readable>();
	const wake = () => {
		for (const source of waiting) source.resume();
		waiting.clear();
	};
	stream.on("drain", wake);
	stream.on("error", (error) => {
		failed = error;
		wake();
	});
	return {
		write(chunk: Uint8Array, source: Readable): void {
			if (left <= 0 || failed !== undefined) return;
			const part = chunk.length <= left ? chunk : chunk.subarray(0, left);
			left -= part.length;
			const ready = stream.write(part);
			if (left <= 0) stream.write(`\n[trtgate: the log was cut here, after ${capBytes} bytes]\n`);
			if (!ready && !source.isPaused()) {
				waiting.add(source);
				source.pause();
			}
		},
		async close(): Promise<void> {
			if (!stream.closed)
				await new Promise<void>((resolve) => {
					stream.once("close", () => resolve());
					stream.end();
				});
			if (failed !== undefined) throw classifyWriteError(failed, path);
		},
	};
}

async function openStream(path: string) {
	await makeFolders(dirname(path));
	try {
		const stream = createWriteStream(path);
		await new Promise<void>((resolve, reject) => {
			stream.once("open", () => resolve());
			stream.once("error", reject);
		});
		stream.removeAllListeners("error");
		return stream;
	} catch (error) {
		throw classifyWriteError(error, path);
	}
}

// Unpacks chosen files of a tar archive as it streams by. Registry tarballs are plain ustar with paths below `package/`.
import { createWriteStream } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { tarFiles } from "../../formats/tar/tar.ts";
import { makeFolders } from "../process/write-error.ts";

export interface TarTarget {
	/** Files are written below it; the first part of their path (`package/`) is taken off. */
	folder: string;
	/** Whether a file is wanted, by its path without the first part. */
	wants(path: string): boolean;
}

/** The end of a pipeline. A path that leaves the folder is an error. */
export function untar({ folder, wants }: TarTarget): (chunks: AsyncIterable<Buffer>) => Promise<void> {
	return async (chunks) => {
		for await (const { path: full, content } of tarFiles(chunks)) {
			const path = normalize(full.split("/").slice(1).join("/"));
			if (!wants(path.split(sep).join("/"))) continue;
			if (path.startsWith("..") || path.startsWith(sep)) throw new Error(`the archive holds the path ${full}`);
			const to = join(folder, path);
			await makeFolders(dirname(to));
			await pipeline(content, createWriteStream(to, { flags: "wx" }));
		}
	};
}

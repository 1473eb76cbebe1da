// What @actions/artifact uses of unzip-stream, over yauzl. That reads an archive from its end, so the archive goes to the disk first.
import { createWriteStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Duplex, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { openPromise } from "yauzl";

/** A stream that closes once everything is unpacked. yauzl refuses names that lead out of the folder. */
function Extract({ path: folder }: { path: string }): Writable {
	return Duplex.from(async (packed: AsyncIterable<Uint8Array>) => {
		const archive = `${folder}.zip`;
		try {
			await writeFile(archive, packed);
			await unpack(archive, folder);
		} finally {
			await rm(archive, { force: true });
		}
	});
}

async function unpack(archive: string, folder: string): Promise<void> {
	const zip = await openPromise(archive);
	for await (const entry of zip.eachEntry()) {
		const path = join(folder, entry.fileName);
		const isFolder = entry.fileName.endsWith("/");
		await mkdir(isFolder ? path : dirname(path), { recursive: true });
		if (!isFolder) await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(path));
	}
}

export default { Extract };

// What @actions/artifact uses of archiver, over yazl.
import type { Readable } from "node:stream";
import { ZipFile } from "yazl";

interface Entry {
	name: string;
}

interface Archive extends Readable {
	file(path: string, entry: Entry): void;
	/** Only a folder is appended, without content. */
	append(content: "", entry: Entry): void;
	finalize(): void;
}

function create(_format: "zip", { zlib }: { zlib: { level: number } }): Archive {
	const zip = new ZipFile();
	const output = zip.outputStream as Readable;
	// The handler of "error" in @actions/artifact throws, which would end the process; the time limit of the upload ends it instead.
	zip.on("error", (error) => output.emit("warning", error));
	// The names begin with a slash, which is no part of a name in an archive.
	return Object.assign(output, {
		file: (path: string, { name }: Entry) =>
			zip.addFile(path, name.replace(/^\/+/, ""), { compressionLevel: zlib.level }),
		append: (_content: "", { name }: Entry) => zip.addEmptyDirectory(name.replace(/^\/+/, "")),
		finalize: () => zip.end(),
	});
}

export default { create };

// Models on disk: read whole or by their heads, with external data, and refused by name where they are damaged.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	closeSync,
	mkdirSync,
	mkdtempSync,
	openSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fileModelReader } from "../../../src/adapters/files/model-reader.ts";
import { fileSource } from "../../../src/adapters/process/input-file.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { ExternalFile } from "../../../src/core/onnx/model.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import {
	bytesField as bytes,
	fieldHeader as header,
	integerField as integer,
	joinBytes as joined,
} from "../../../src/formats/onnx/write.ts";
import { type Bytes, externalTensor, graph, model, tensor } from "../../support/onnx-writer.ts";

let folder = "";
beforeAll(() => {
	folder = mkdtempSync(join(tmpdir(), "model-reader-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 10\n";
const sha256 = (data: Bytes | string): string => createHash("sha256").update(data).digest("hex");

/** A folder of its own with a model that keeps 16 bytes from byte 8 on at `location`. */
function place(
	name: string,
	location: string,
	entries: Record<string, string> = { offset: "8", length: "16" },
): string {
	const home = join(folder, name);
	mkdirSync(join(home, "sub"), { recursive: true });
	const path = join(home, "m.onnx");
	writeFileSync(path, model({ initializers: [externalTensor("w", [4], { location, ...entries })] }));
	return path;
}

async function externalOf(path: string): Promise<readonly ExternalFile[]> {
	return (await fileModelReader().read(path)).external;
}

async function refusal(path: string): Promise<ConfigError> {
	const error: unknown = await fileModelReader()
		.read(path)
		.catch((thrown: unknown) => thrown);
	if (error instanceof ConfigError) return error;
	throw new Error(`not refused: ${String(error)}`);
}

it("fileModelReader reads a model with the hash of the file", async () => {
	const path = "test/fixtures/models/classifier.onnx";
	const read = await fileModelReader().read(path);
	expect(read).toMatchObject({ path, sha256: sha256(readFileSync(path)), external: [] });
	expect(read.onnx.bytes).toBe(59_934);
});

it("fileModelReader reads a model of more than 2 GiB, by offsets", async () => {
	const path = join(folder, "huge.onnx");
	const weightBytes = 2 ** 31 + 4096;
	const weight = joined(tensor({ name: "w", dims: [weightBytes / 4] }), header(9, weightBytes));
	const rest = graph();
	const start = joined(integer(1, 8), bytes(8, integer(2, 17)));
	const inGraph = joined(header(5, weight.length + weightBytes), weight);
	const head = joined(start, header(7, inGraph.length + weightBytes + rest.length), inGraph);
	const tail = Buffer.from(rest);
	writeFileSync(path, head);
	truncateSync(path, head.length + weightBytes + tail.length);
	// The file is sparse: its tail alone is written behind the hole.
	const sparse = openSync(path, "r+");
	writeSync(sparse, tail, 0, tail.length, head.length + weightBytes);
	closeSync(sparse);
	const file = openSync(path, "r");
	const onnx = readOnnx(fileSource(file, statSync(path).size), path);
	closeSync(file);
	expect(onnx.graph.initializers[0]?.bytes).toBe(weightBytes);
	expect(onnx.graph.nodes[0]?.op).toBe("Relu");
});

it("fileModelReader refuses a model that is not there, with a fix", async () => {
	const error = await refusal(join(folder, "nothing.onnx"));
	expect(error.code).toBe("model-missing");
	expect(error.message).toContain("nothing.onnx");
	expect(error.fix).toMatch(/prepare/);
});

it("fileModelReader refuses a named pipe, without waiting for it", async () => {
	const path = join(folder, "pipe.onnx");
	execFileSync("sh", ["-c", 'mkfifo "$0"', path]);
	expect((await refusal(path)).message).toMatch(/a named pipe/);
});

it("fileModelReader follows external data that is there, and hashes it with the model whatever the model is called", async () => {
	const path = place("good", "sub/w.bin");
	const data = new Uint8Array(24).fill(7);
	writeFileSync(join(folder, "good/sub/w.bin"), data);
	const read = await fileModelReader().read(path);
	expect(read.external).toEqual([
		{ location: "sub/w.bin", path: join(folder, "good/sub/w.bin"), neededBytes: 24, problem: null },
	]);
	const lines = [`${sha256(readFileSync(path))}  -\n`, `${sha256(data)}  sub/w.bin\n`].sort();
	expect(read.sha256).toBe(sha256(lines.join("")));
	const shell = execFileSync(
		"sh",
		["-c", "{ sha256sum < m.onnx; sha256sum sub/w.bin; } | LC_ALL=C sort | sha256sum"],
		{ cwd: join(folder, "good") },
	);
	expect(shell.toString().slice(0, 64)).toBe(read.sha256);
	writeFileSync(join(folder, "good/sub/w.bin"), new Uint8Array(24).fill(8));
	expect((await fileModelReader().read(path)).sha256).not.toBe(read.sha256);
});

it("fileModelReader follows external data to the furthest end of all tensors, in subgraphs too", async () => {
	const home = join(folder, "many");
	mkdirSync(home);
	const far = externalTensor("f", [1], { location: "w.bin", offset: "100", length: "4" });
	const near = externalTensor("n", [4], { location: "w.bin" });
	writeFileSync(join(home, "m.onnx"), model({ initializers: [far, near] }));
	writeFileSync(join(home, "w.bin"), new Uint8Array(104));
	expect(await externalOf(join(home, "m.onnx"))).toMatchObject([{ neededBytes: 104, problem: null }]);
});

it("fileModelReader follows external data that is missing, short, a Git LFS pointer or a folder", async () => {
	expect(await externalOf(place("missing", "w.bin"))).toMatchObject([
		{ problem: "missing", neededBytes: 24 },
	]);
	const short = place("short", "w.bin");
	writeFileSync(join(folder, "short/w.bin"), new Uint8Array(23));
	expect(await externalOf(short)).toMatchObject([{ problem: "short" }]);
	const lfs = place("lfs", "w.bin");
	writeFileSync(join(folder, "lfs/w.bin"), pointer);
	expect(await externalOf(lfs)).toMatchObject([{ problem: "lfs-pointer" }]);
	expect(await externalOf(place("folder", "sub"))).toMatchObject([{ problem: "missing" }]);
	expect(await externalOf(place("nameless", ""))).toMatchObject([{ problem: "missing" }]);
});

it.each<[string, string, ExternalFile["problem"]]>([
	["up", "../w.bin", "outside"],
	["up-deep", "sub/../../w.bin", "outside"],
	["absolute", "/etc/passwd", "absolute"],
	["drive", "C:\\windows\\win.ini", "absolute"],
	["nul", "w\u0000.bin", "missing"],
	["long", "w".repeat(10_000), "missing"],
	["dots", "..weights", "missing"],
])(
	"fileModelReader follows external data never out of the model's folder: %s",
	async (...[name, location, problem]) => {
		writeFileSync(join(folder, "w.bin"), new Uint8Array(100));
		const [found] = await externalOf(place(`escape-${name}`, location));
		expect(found?.problem).toBe(problem);
		if (problem !== "missing") expect(found?.path).toBeNull();
	},
);

it("fileModelReader follows external data never through a link out of the model's folder, nor in circles", async () => {
	const linked = place("linked", "w.bin");
	writeFileSync(join(folder, "secret.bin"), new Uint8Array(100));
	symlinkSync(join(folder, "secret.bin"), join(folder, "linked/w.bin"));
	expect(await externalOf(linked)).toMatchObject([{ problem: "outside", path: null }]);
	const circle = place("circle", "w.bin");
	symlinkSync("w.bin", join(folder, "circle/w.bin"));
	expect(await externalOf(circle)).toMatchObject([{ problem: "missing" }]);
});

it("fileModelReader follows external data through links beside each other, as model caches keep both", async () => {
	const blobs = join(folder, "cache/blobs");
	const snapshot = join(folder, "cache/snapshots/1");
	mkdirSync(blobs, { recursive: true });
	mkdirSync(snapshot, { recursive: true });
	writeFileSync(
		join(blobs, "aaa"),
		model({ initializers: [externalTensor("w", [4], { location: "w.bin" })] }),
	);
	writeFileSync(join(blobs, "bbb"), new Uint8Array(16));
	symlinkSync("../../blobs/aaa", join(snapshot, "m.onnx"));
	symlinkSync("../../blobs/bbb", join(snapshot, "w.bin"));
	expect(await externalOf(join(snapshot, "m.onnx"))).toMatchObject([{ problem: null }]);
});

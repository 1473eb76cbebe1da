import { execFileSync } from "node:child_process";
import {
	appendFileSync,
	closeSync,
	mkdirSync,
	openSync,
	readFileSync,
	statSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { readModel } from "../../../src/adapters/files/model-reader.ts";
import { fileSource } from "../../../src/adapters/process/input-file.ts";
import type { ExternalFile } from "../../../src/core/onnx/model.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";
import {
	bytesField as bytes,
	fieldHeader as header,
	integerField as integer,
	joinBytes as joined,
} from "../../../src/formats/onnx/write.ts";
import { silent } from "../../support/fakes.ts";
import { externalTensor, graph, model, tensor } from "../../support/onnx-writer.ts";
import {
	expectFault,
	folderWith,
	lfsPointer,
	sha256,
	temporaryFolder,
	writeProject,
} from "../../support/project.ts";

function place(location: string, files: Parameters<typeof writeProject>[1] = {}) {
	const entries = { location, offset: "8", length: "16" };
	const bytes = model({ initializers: [externalTensor("w", [4], entries)] });
	const home = join(temporaryFolder(), "home");
	mkdirSync(join(home, "sub"), { recursive: true });
	return join(writeProject(home, { "m.onnx": bytes, ...files }), "m.onnx");
}

const read = readModel;
const externalOf = async (path: string) => (await read(path)).external;

it("reads a model with the hash of the file", async () => {
	const path = "test/fixtures/models/classifier.onnx";
	const model = await read(path);
	expect(model).toMatchObject({ path, sha256: sha256(readFileSync(path)), external: [] });
	expect(model.onnx.bytes).toBe(59_934);
});

it("reads a model of more than 2 GiB, by offsets", async () => {
	const path = join(temporaryFolder(), "huge.onnx");
	const weightBytes = 2 ** 31 + 4096;
	const weight = joined(tensor({ name: "w", dims: [weightBytes / 4] }), header(9, weightBytes));
	const rest = graph();
	const start = joined(integer(1, 8), bytes(8, integer(2, 17)));
	const inGraph = joined(header(5, weight.length + weightBytes), weight);
	const head = joined(start, header(7, inGraph.length + weightBytes + rest.length), inGraph);
	writeFileSync(path, head);
	// A hole, so that the file takes no space.
	truncateSync(path, head.length + weightBytes);
	appendFileSync(path, rest);
	const file = openSync(path, "r");
	const onnx = readOnnx(fileSource(file, statSync(path).size), path);
	closeSync(file);
	expect(onnx.graph.initializers[0]?.bytes).toBe(weightBytes);
	expect(onnx.graph.nodes[0]?.op).toBe("Relu");
});

it("refuses a model that is not there, and a named pipe without waiting for it", async () => {
	await expectFault(read("nothing.onnx"), "model-missing", "nothing.onnx", "prepare");
	const path = join(temporaryFolder(), "pipe.onnx");
	execFileSync("sh", ["-c", 'mkfifo "$0"', path]);
	await expect(read(path)).rejects.toThrow(/a named pipe/);
});

it("follows external data that is there, and hashes it with the model whatever the model is called", async () => {
	const data = new Uint8Array(24).fill(7);
	const path = place("sub/w.bin", { "sub/w.bin": data });
	const home = dirname(path);
	const found = await read(path);
	expect(found.external).toEqual([
		{ location: "sub/w.bin", path: join(home, "sub/w.bin"), neededBytes: 24, problem: null },
	]);
	const lines = [`${sha256(readFileSync(path))}  -\n`, `${sha256(data)}  sub/w.bin\n`].sort();
	expect(found.sha256).toBe(sha256(lines.join("")));
	const command = "{ sha256sum < m.onnx; sha256sum sub/w.bin; } | LC_ALL=C sort | sha256sum";
	expect(execFileSync("sh", ["-c", command], { cwd: home }).toString().slice(0, 64)).toBe(found.sha256);
	writeFileSync(join(home, "sub/w.bin"), data.fill(8));
	expect((await read(path)).sha256).not.toBe(found.sha256);
});

it("follows external data to the furthest end of all tensors, in subgraphs too", async () => {
	const far = externalTensor("f", [1], { location: "w.bin", offset: "100", length: "4" });
	const near = externalTensor("n", [4], { location: "w.bin" });
	const path = place("", { "m.onnx": model({ initializers: [far, near] }), "w.bin": new Uint8Array(104) });
	expect(await externalOf(path)).toMatchObject([{ neededBytes: 104, problem: null }]);
});

it.each<[ExternalFile["problem"], string, Record<string, string | Uint8Array>]>([
	["missing", "w.bin", {}],
	["missing", "sub", {}],
	["missing", "", {}],
	["short", "w.bin", { "w.bin": new Uint8Array(23) }],
	["lfs-pointer", "w.bin", { "w.bin": lfsPointer("weights") }],
	["outside", "../w.bin", {}],
	["outside", "sub/../../w.bin", {}],
	["absolute", "/etc/passwd", {}],
	["absolute", "C:\\windows\\win.ini", {}],
	["missing", "w\u0000.bin", {}],
	["missing", "w".repeat(10_000), {}],
	["missing", "..weights", {}],
])("finds external data %s at %j", async (problem, location, files) => {
	const path = place(location, files);
	writeFileSync(join(dirname(path), "../w.bin"), new Uint8Array(100));
	const [found] = await externalOf(path);
	expect(found).toMatchObject({ problem, neededBytes: 24 });
	if (problem === "outside" || problem === "absolute") expect(found?.path).toBeNull();
});

it("follows external data never through a link out of the model's folder, nor in circles", async () => {
	const linked = place("w.bin");
	const secret = join(dirname(linked), "../secret.bin");
	writeFileSync(secret, new Uint8Array(100));
	symlinkSync(secret, join(dirname(linked), "w.bin"));
	expect(await externalOf(linked)).toMatchObject([{ problem: "outside", path: null }]);
	const circle = place("w.bin");
	symlinkSync("w.bin", join(dirname(circle), "w.bin"));
	expect(await externalOf(circle)).toMatchObject([{ problem: "missing" }]);
});

it("follows external data through links beside each other, as model caches keep both", async () => {
	const cache = folderWith({
		"blobs/aaa": model({ initializers: [externalTensor("w", [4], { location: "w.bin" })] }),
		"blobs/bbb": new Uint8Array(16),
		"snapshots/1/README": "",
	});
	const snapshot = join(cache, "snapshots/1");
	symlinkSync("../../blobs/aaa", join(snapshot, "m.onnx"));
	symlinkSync("../../blobs/bbb", join(snapshot, "w.bin"));
	expect(await externalOf(join(snapshot, "m.onnx"))).toMatchObject([{ problem: null }]);
});

it("shows how much of a model and its data of 1 GiB in all is read", async () => {
	const data = ["a.bin", "b.bin"];
	const initializers = data.map((location) => externalTensor(location, [1], { location }));
	const folder = folderWith({ "m.onnx": model({ initializers }), "a.bin": "", "b.bin": "" });
	for (const name of data) truncateSync(join(folder, name), 2 ** 29);
	// Stops the reading, which would take seconds.
	const detail = (text: string) => {
		throw new Error(text);
	};
	const reading = readModel(join(folder, "m.onnx"), { ...silent, detail });
	await expect(reading).rejects.toThrow("64.0 MiB of 1.00 GiB read");
});

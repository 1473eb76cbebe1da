// The native runtime is fetched whole, as published, or not at all.
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { fetchNative } from "../../../src/adapters/onnxruntime/native-fetch.ts";
import { ortVersion } from "../../../src/adapters/onnxruntime/pinned.ts";
import { gzippedTarball } from "../../support/tarball.ts";

const node = gzippedTarball([
	{ path: "package/bin/napi-v6/linux/x64/onnxruntime_binding.node", text: "addon" },
	{ path: "package/bin/napi-v6/linux/x64/libonnxruntime.so.1", text: "library" },
	{ path: "package/bin/napi-v6/win32/x64/onnxruntime_binding.node", text: "not ours" },
	{ path: "package/dist/index.js", text: "exports.x = 1" },
	{ path: "package/dist/index.js.map", text: "{}" },
	{ path: "package/script/install.js", text: "download()" },
	{ path: "package/package.json", text: "{}" },
]);
const common = gzippedTarball([{ path: "package/package.json", text: "{}" }]);
const pin = (name: string, archive: Buffer) => ({
	name,
	version: "1.0.0",
	sha512: createHash("sha512").update(archive).digest("base64"),
	maxBytes: 10_000,
});
const packages = [pin("onnxruntime-node", node), pin("onnxruntime-common", common)];

type Answer = { status?: number; body: Buffer; cut?: number; hang?: boolean };
let answers: Record<string, Answer> = {};
let asked: string[] = [];
let server: Server;
let registry = "";
let cacheFolder = "";

beforeAll(async () => {
	server = createServer((request, response) => {
		const url = request.url ?? "";
		asked.push(url);
		const answer = answers[url] ?? { status: 404, body: Buffer.from("no") };
		if (answer.hang) return;
		response.writeHead(answer.status ?? 200, { "content-length": answer.body.length });
		if (answer.cut === undefined) response.end(answer.body);
		else response.write(answer.body.subarray(0, answer.cut), () => response.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/npm/`;
});
afterAll(() => {
	server.closeAllConnections();
	server.close();
});
beforeEach(() => {
	cacheFolder = mkdtempSync(join(tmpdir(), "trtgate-fetch-"));
	asked = [];
	answers = {
		"/npm/onnxruntime-node/-/onnxruntime-node-1.0.0.tgz": { body: node },
		"/npm/onnxruntime-common/-/onnxruntime-common-1.0.0.tgz": { body: common },
	};
});
afterEach(() => rmSync(cacheFolder, { recursive: true }));

const fetchIt = (changes: Partial<Parameters<typeof fetchNative>[0]> = {}): Promise<string> =>
	fetchNative({ cacheFolder, registry, packages, platform: "linux", arch: "x64", ...changes });

it("fetchNative keeps the files of this machine only, once", async () => {
	const seen: [number, number | null][] = [];
	const folder = await fetchIt({ onBytes: (received, total) => seen.push([received, total]) });
	expect(folder).toBe(join(cacheFolder, `ort-native-${ortVersion}-linux-x64`));
	const files = readdirSync(join(folder, "node_modules"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
	expect(files.map((entry) => entry.name).sort()).toEqual([
		"index.js",
		"libonnxruntime.so.1",
		"onnxruntime_binding.node",
		"package.json",
		"package.json",
	]);
	expect(readFileSync(join(folder, "node_modules/onnxruntime-node/bin/napi-v6/linux/x64/onnxruntime_binding.node"), "utf8")).toBe("addon");
	expect(seen).toContainEqual([node.length, node.length]);
	await fetchIt();
	expect(asked).toHaveLength(2);
});

it("fetchNative lets two at once end with one whole folder", async () => {
	const [a, b] = await Promise.all([fetchIt(), fetchIt()]);
	expect(a).toBe(b);
	expect(readdirSync(cacheFolder)).toHaveLength(1);
});

it.each([
	["a page that is not there", {}, /answers 404 Not Found/],
	["an archive of other contents", { body: gzippedTarball([{ path: "package/package.json", text: "{ }" }]) }, /not the published/],
	["a page that is no archive", { body: Buffer.from("<html>proxy</html>") }, /header/],
	["an archive that breaks off", { body: node, cut: 100 }, /\w/],
	["an archive without end", { body: Buffer.concat([node, Buffer.alloc(20_000)]) }, /longer than 10000 bytes|trailing|header/],
])("fetchNative refuses %s and leaves nothing behind", async (_what, answer, message) => {
	const url = "/npm/onnxruntime-node/-/onnxruntime-node-1.0.0.tgz";
	if ("body" in answer) answers[url] = answer as Answer;
	else delete answers[url];
	const failed = fetchIt();
	await expect(failed).rejects.toMatchObject({
		code: "runtime-fetch",
		message: expect.stringMatching(message),
		fix: expect.stringContaining("onnxruntime: wasm"),
	});
	await expect(failed).rejects.toThrow(url);
	expect(readdirSync(cacheFolder)).toEqual([]);
});

it("fetchNative reports the expected hash and the one that came", async () => {
	const wrong = [{ ...pin("onnxruntime-node", node), sha512: "AAAA" }];
	await expect(fetchIt({ packages: wrong })).rejects.toThrow(`the SHA-512 ${packages[0]?.sha512}, not the published AAAA`);
});

it("fetchNative reports that there is no build for this machine", async () => {
	await expect(fetchIt({ platform: "aix" })).rejects.toThrow("it has no build for aix on x64");
});

it("fetchNative gives up on a server that does not respond or does not exist", async () => {
	answers["/npm/onnxruntime-node/-/onnxruntime-node-1.0.0.tgz"] = { body: node, hang: true };
	await expect(fetchIt({ timeoutMs: 200 })).rejects.toMatchObject({ code: "runtime-fetch", message: expect.stringContaining("timeout") });
	const closed = createServer();
	await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
	const { port } = closed.address() as AddressInfo;
	await new Promise((resolve) => closed.close(resolve));
	await expect(fetchIt({ registry: `http://127.0.0.1:${port}` })).rejects.toMatchObject({
		code: "runtime-fetch",
		message: expect.stringContaining("ECONNREFUSED"),
	});
});

it("fetchNative reports that the cache cannot be written", async () => {
	const file = join(cacheFolder, "file");
	writeFileSync(file, "");
	await expect(fetchIt({ cacheFolder: file })).rejects.toMatchObject({ code: "output-unwritable" });
	expect(existsSync(file)).toBe(true);
});

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { fetchNative, ortVersion } from "../../../src/adapters/onnxruntime/runtime.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import type { ToolError } from "../../../src/core/errors.ts";
import { expectFault, temporaryFolder } from "../../support/project.ts";
import { gzippedTarball } from "../../support/tarball.ts";

const node = gzippedTarball([
	{ path: "package/bin/napi-v6/linux/x64/onnxruntime_binding.node", text: "addon" },
	{ path: "package/bin/napi-v6/linux/x64/libonnxruntime.so.1", text: "library" },
	{ path: "package/bin/napi-v6/win32/x64/onnxruntime_binding.node", text: "not ours" },
	{ path: "package/package.json", text: "{}" },
]);
const common = gzippedTarball([{ path: "package/package.json", text: "{}" }]);
const pin = (name: string, archive: Buffer) => ({
	name,
	version: "1.0.0",
	sha512: createHash("sha512").update(archive).digest("base64"),
});
const packages = [pin("onnxruntime-node", node), pin("onnxruntime-common", common)];

type Answer = { status?: number; body: Buffer; cut?: number; hang?: boolean };
let answers: Record<string, Answer> = {};
let server: Server;
let [registry, folder, cacheFolder] = ["", "", ""];

const tarballPath = (name: string) => `/npm/${name}/-/${name}-1.0.0.tgz`;

function manifestOf(name: string) {
	const dist = { tarball: new URL(tarballPath(name), registry).href };
	const versions = { "1.0.0": { name, version: "1.0.0", dist } };
	return Buffer.from(JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions }));
}

beforeAll(async () => {
	server = createServer((request, response) => {
		const url = request.url ?? "";
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
	folder = temporaryFolder();
	cacheFolder = join(folder, "cache");
	const names = { "onnxruntime-node": node, "onnxruntime-common": common };
	answers = Object.fromEntries(
		Object.entries(names).flatMap(([name, body]) => [
			[`/npm/${name}`, { body: manifestOf(name) }],
			[tarballPath(name), { body }],
		]),
	);
});

function fetchIt(changes: Partial<Parameters<typeof fetchNative>[0]> = {}) {
	const processes = createProcesses({ env: { ...process.env, npm_config_cache: join(folder, "npm") } });
	const machine = { platform: "linux", arch: "x64" } as const;
	return fetchNative({ cacheFolder, processes, registry, packages, ...machine, ...changes });
}

it("fetchNative keeps the builds of this machine only, once", async () => {
	const installed = await fetchIt();
	expect(installed).toBe(join(cacheFolder, `ort-native-${ortVersion}-linux-x64`));
	const builds = join(installed, "node_modules/onnxruntime-node/bin/napi-v6");
	expect(readFileSync(join(builds, "linux/x64/onnxruntime_binding.node"), "utf8")).toBe("addon");
	expect(readdirSync(join(builds, "linux"))).toEqual(["x64"]);
	answers = {};
	expect(await fetchIt()).toBe(installed);
});

it.each<[string, Answer, RegExp]>([
	["a server's error", { status: 503, body: Buffer.from("busy") }, /E503/],
	[
		"an archive of other contents",
		{ body: gzippedTarball([{ path: "package/package.json", text: "{ }" }]) },
		/EINTEGRITY/,
	],
	["an archive that breaks off", { body: node, cut: 100 }, /\w/],
])("fetchNative refuses %s and leaves nothing behind", async (_what, answer, excerpt) => {
	answers[tarballPath("onnxruntime-node")] = answer;
	const error: unknown = await fetchIt().catch((caught: unknown) => caught);
	expect(error).toMatchObject({
		code: "runtime-fetch",
		message: expect.stringContaining("npm ci ended with exit code 1"),
	});
	expect((error as ToolError).excerpt?.join(" ")).toMatch(excerpt);
	expect(readdirSync(cacheFolder)).toEqual([]);
});

it("fetchNative reports that there is no build for this machine", async () => {
	await expect(fetchIt({ arch: "s390x" })).rejects.toMatchObject({
		message: expect.stringContaining("no build for linux on s390x"),
	});
	expect(readdirSync(cacheFolder)).toEqual([]);
});

it("fetchNative gives up on a server that does not respond", async () => {
	answers[tarballPath("onnxruntime-node")] = { body: node, hang: true };
	await expectFault(fetchIt({ timeoutMs: 3000 }), "runtime-fetch", "timed-out");
});

it("fetchNative reports that the cache cannot be written", async () => {
	const file = join(folder, "file");
	writeFileSync(file, "");
	await expectFault(fetchIt({ cacheFolder: file }), "output-unwritable");
	expect(existsSync(file)).toBe(true);
});

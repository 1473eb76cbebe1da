import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { expect, it } from "vitest";
import archiver from "../../packages/archiver/index.ts";
import unzip from "../../packages/unzip-stream/index.ts";
import { temporaryFolder } from "../support/project.ts";
import { zipOf } from "../support/zip-writer.ts";

it.each([0, 6])("an archive of level %i gives back its files and folders", async (level) => {
	const folder = temporaryFolder();
	const files = { "result.json": "{}", "logs/ä b.log": "x".repeat(100_000), "logs/empty": "" };
	mkdirSync(join(folder, "from/logs"), { recursive: true });
	for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, "from", name), text);
	const archive = archiver.create("zip", { zlib: { level } });
	for (const name of Object.keys(files)) archive.file(join(folder, "from", name), { name: `/${name}` });
	archive.append("", { name: "/nothing" });
	archive.finalize();
	const to = join(folder, "to");
	mkdirSync(to);
	await pipeline(archive, unzip.Extract({ path: to }));
	expect(
		Object.fromEntries(Object.keys(files).map((name) => [name, readFileSync(join(to, name), "utf8")])),
	).toEqual(files);
	expect(readdirSync(to).sort()).toEqual(["logs", "nothing", "result.json"]);
	expect(readdirSync(folder).sort()).toEqual(["from", "to"]);
});

it("an archive warns of a file that is gone, and does not end the process", async () => {
	const archive = archiver.create("zip", { zlib: { level: 6 } });
	archive.on("error", () => expect.unreachable());
	archive.file(join(temporaryFolder(), "gone"), { name: "/gone" });
	archive.finalize();
	expect(await once(archive.pipe(new PassThrough()) && archive, "warning")).toMatchObject([
		{ code: "ENOENT" },
	]);
});

it.each([
	["leads out of the folder", zipOf([{ name: "../escape", content: "x" }])],
	["leads to the root", zipOf([{ name: "/escape", content: "x" }])],
	["is cut", zipOf([{ name: "a", content: "x" }]).subarray(0, -4)],
	["is none", Buffer.from("<html>")],
])("an archive that %s is refused and writes nothing", async (_, bytes) => {
	const folder = temporaryFolder();
	mkdirSync(join(folder, "to"));
	await expect(
		pipeline(Readable.from([bytes]), unzip.Extract({ path: join(folder, "to") })),
	).rejects.toThrow();
	expect(readdirSync(folder, { recursive: true })).toEqual(["to"]);
});

// Files are written whole or not at all, and faults name the file and whose they are.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { fileStore } from "../../../src/adapters/files/store.ts";
import { inputKinds } from "../../../src/core/input-kind.ts";

const folder = mkdtempSync(join(tmpdir(), "trtgate-store-"));
const files = fileStore();
afterAll(() => rmSync(folder, { recursive: true }));

it("fileStore writes and reads text and bytes", async () => {
	const path = join(folder, "a.txt");
	await files.writeText(path, "zwölf\n");
	await files.writeText(path, "once more\n");
	expect(await files.readText(path, inputKinds.tensor)).toBe("once more\n");
	await files.writeBytes(path, Uint8Array.of(0, 255, 128));
	expect([...(await files.readBytes(path, inputKinds.tensor))]).toEqual([0, 255, 128]);
	expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

it("fileStore shows a reader the old file or the new one, never half of either", async () => {
	const path = join(folder, "turn.txt");
	const [old, fresh] = ["a".repeat(300_000), "b".repeat(300_000)];
	await files.writeText(path, old);
	const writing = (async () => {
		for (let i = 0; i < 10; i++) await files.writeText(path, i % 2 === 0 ? fresh : old);
	})();
	let done = false;
	void writing.then(() => {
		done = true;
	});
	while (!done) expect([old, fresh]).toContain(await files.readText(path, inputKinds.tensor));
});

it("fileStore hashes and sizes files, and reports missing ones", async () => {
	const path = join(folder, "abc");
	await files.writeText(path, "abc");
	// FIPS 180-2, B.1.
	expect(await files.sha256(path, inputKinds.tensor)).toBe(
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	);
	expect(await files.size(path)).toBe(3);
	expect(await files.size(folder)).toBeNull();
	expect(await files.size(join(path, "below-a-file"))).toBeNull();
	expect(await files.realPath(join(folder, "nowhere"))).toBeNull();
	symlinkSync(path, join(folder, "link"));
	expect(await files.realPath(join(folder, "link"))).toBe(await files.realPath(path));
});

it.each([
	["a file is where a folder is needed", () => join(folder, "abc", "x.json"), "output-unwritable"],
	["a folder stands where the file should", () => join(folder, "taken"), "output-unwritable"],
	["the folder is not there", () => join(folder, "absent", "x.json"), "output-unwritable"],
	["the kernel forbids it", () => "/proc/trtgate/x.json", "output-unwritable"],
])("fileStore fails when %s, and leaves nothing behind", async (_what, pathOf, code) => {
	mkdirSync(join(folder, "taken", "inside"), { recursive: true });
	const before = readdirSync(folder).sort();
	const path = pathOf();
	await expect(files.writeText(path, "x")).rejects.toMatchObject({
		code,
		message: expect.stringContaining(path),
	});
	expect(readdirSync(folder).sort()).toEqual(before);
});

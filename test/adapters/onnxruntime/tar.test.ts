// Chosen files of an archive, and only those, land in the folder.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { untar } from "../../../src/adapters/onnxruntime/tar.ts";
import { tarball } from "../../support/tarball.ts";

let folder = "";
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "trtgate-tar-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const all = (): boolean => true;

async function unpack(
	archive: Buffer,
	options: { wants?: (path: string) => boolean; to?: string; pieceBytes?: number } = {},
): Promise<void> {
	const size = options.pieceBytes ?? archive.length;
	const pieces = Array.from({ length: Math.ceil(archive.length / size) }, (_, index) => archive.subarray(index * size, (index + 1) * size));
	await pipeline(Readable.from(pieces), untar({ folder: options.to ?? folder, wants: options.wants ?? all }));
}

it("untar reads what GNU tar writes", async () => {
	const source = join(folder, "source/package");
	mkdirSync(join(source, "deep"), { recursive: true });
	writeFileSync(join(source, "empty"), "");
	writeFileSync(join(source, "deep/block"), "x".repeat(1_024));
	writeFileSync(join(source, "deep/odd"), "y".repeat(513));
	const archive = execFileSync("tar", ["--format=ustar", "-C", join(folder, "source"), "-cf", "-", "package"]);
	const to = join(folder, "to");
	await unpack(archive, { to });
	expect(readdirSync(to, { recursive: true }).sort()).toEqual(["deep", "deep/block", "deep/odd", "empty"]);
	expect(readFileSync(join(to, "deep/odd"), "utf8")).toBe("y".repeat(513));
});

it("untar gives the same files however the bytes arrive", async () => {
	const archive = tarball([
		{ path: "package/a", text: "one" },
		{ path: "b.txt", prefix: "package/long", text: "x".repeat(700) },
	]);
	await fc.assert(
		fc.asyncProperty(fc.integer({ min: 1, max: 1_200 }), async (pieceBytes) => {
			const to = mkdtempSync(join(folder, "case-"));
			await unpack(archive, { to, pieceBytes });
			expect(readFileSync(join(to, "a"), "utf8")).toBe("one");
			expect(readFileSync(join(to, "long/b.txt"), "utf8")).toBe("x".repeat(700));
		}),
		{ numRuns: 20 },
	);
});

it("untar leaves out unneeded files and links", async () => {
	const archive = tarball([
		{ path: "package/a", text: "one" },
		{ path: "package/b", text: "x".repeat(2_000) },
		{ path: "package/link", text: "", kind: "2" },
	]);
	await unpack(archive, { wants: (path) => path !== "b" });
	expect(readdirSync(folder)).toEqual(["a"]);
});

it.each(["package/../../evil", "package/x/../../../evil", "/package/../evil/../../evil"])("untar refuses the path %s", async (path) => {
	const to = join(folder, "in/side");
	await expect(unpack(tarball([{ path, text: "x" }]), { to })).rejects.toThrow("the archive holds the path");
	expect(existsSync(join(folder, "evil")) || existsSync(join(folder, "in/evil"))).toBe(false);
});

it("untar keeps a path that only looks absolute inside", async () => {
	await unpack(tarball([{ path: "/etc/passwd", text: "x" }]));
	expect(readdirSync(folder, { recursive: true }).sort()).toEqual(["etc", "etc/passwd"]);
});

it("untar notices an archive that is cut short at any place", async () => {
	const archive = tarball([{ path: "package/a", text: "x".repeat(600) }]);
	for (const length of [1, 511, 513, 1_100]) {
		const to = mkdtempSync(join(folder, "cut-"));
		await expect(unpack(archive.subarray(0, length), { to })).rejects.toThrow("the archive is truncated");
	}
});

it("untar refuses a header whose sum is wrong, and one file given twice", async () => {
	const archive = tarball([{ path: "package/a", text: "x" }]);
	archive[3] = 33;
	await expect(unpack(archive)).rejects.toThrow("the archive is damaged");
	const twice = tarball([
		{ path: "package/a", text: "x" },
		{ path: "package/a", text: "y" },
	]);
	await expect(unpack(twice)).rejects.toMatchObject({ code: "EEXIST" });
});

it("untar survives any bytes", async () => {
	await fc.assert(
		fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 2_000 }), async (bytes) => {
			await unpack(Buffer.from(bytes)).catch(() => {});
		}),
		{ numRuns: 50 },
	);
});

import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { takeFile } from "../../../../src/host/adapters/github/artifacts.ts";
import { temporaryFolder } from "../../../support/project.ts";
import { type ZipFile, zipOf } from "../../../support/zip-writer.ts";

const limits = { packedBytes: 1_000_000, bytes: 100_000 };
const good: ZipFile = { name: "result.json", content: '{"ok":"é"}' };

async function take(archive: Uint8Array) {
	const folder = temporaryFolder();
	writeFileSync(join(folder, "a.zip"), archive);
	const taken = await takeFile(join(folder, "a.zip"), "result.json", limits);
	return { taken, left: readdirSync(folder) };
}

it.each<[string, ZipFile[]]>([
	["deflated", [good]],
	["stored", [{ ...good, method: 0 }]],
	[
		"among others, some of which lead out of the folder",
		[
			{ name: "../../escape", content: "x" },
			{ name: "/etc/x", content: "x" },
			good,
			{ name: "logs/result.json", content: "no" },
		],
	],
])("takeFile reads a file that is %s, and writes nothing", async (_, files) => {
	expect(await take(zipOf(files))).toEqual({ taken: { state: "read", text: '{"ok":"é"}' }, left: ["a.zip"] });
});

it("takeFile reports a missing file", async () => {
	const others = ["../result.json", "a/result.json"].map((name) => ({ name, content: "x" }));
	expect((await take(zipOf(others))).taken).toEqual({ state: "absent" });
});

const changed = (more: Partial<ZipFile>) => zipOf([{ ...good, ...more }]);

it.each<[string, Buffer, RegExp]>([
	["a symbolic link", changed({ mode: 0o120777 }), /symbolic link/],
	["an encrypted file", changed({ flags: 1 }), /encrypted/],
	["an unknown method", changed({ method: 99 }), /method 99/],
	["two files of the name", zipOf([good, good]), /twice/],
	["a file larger than the limit", changed({ content: "x".repeat(100_001) }), /100001 bytes; at most 100000/],
	["a bomb that says how large it is", changed({ says: { bytes: 0xfffffff0 } }), /4294967280 bytes; at most/],
	[
		"a bomb that lies about its size",
		changed({ content: "\0".repeat(50_000_000), says: { bytes: 10 } }),
		/does not have the size in its directory/,
	],
	[
		"a file that is shorter than it says",
		changed({ says: { bytes: 12 } }),
		/does not have the size in its directory/,
	],
	["a wrong checksum", changed({ says: { crc32: 1 } }), /checksum/],
	["a place outside the archive", changed({ says: { offset: 0x7fffffff } }), /beyond the end of the file/],
	["a list outside the archive", zipOf([good], { listOffset: 0x7fffffff }), /beyond the end of the file/],
	["a list that is too short", zipOf([good], { listBytes: 40 }), /broken/],
	["ZIP64", zipOf([good], { listOffset: 0xffffffff }), /ZIP64/],
	["a huge list", zipOf([good], { listBytes: 0x7fffffff }), /at most 16777216/],
	["text that is not UTF-8", changed({ content: Buffer.from([0xff, 0xfe]) }), /UTF-8/],
	["no archive", Buffer.from("<!doctype html>"), /not a ZIP/],
	["nothing", Buffer.alloc(0), /not a ZIP/],
	["an archive larger than the limit", Buffer.alloc(1_000_001), /1000001 bytes; at most/],
])("takeFile refuses %s", async (_, archive, reason) => {
	const { taken, left } = await take(archive);
	expect(taken).toMatchObject({ state: "refused", reason: expect.stringMatching(reason) });
	expect(left).toEqual(["a.zip"]);
});

it("takeFile ends in one of three ways whatever bytes are changed or cut", async () => {
	const whole = zipOf([{ name: "logs/a", content: "x".repeat(300) }, good]);
	const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
	await fc.assert(
		fc.asyncProperty(fc.array(change, { maxLength: 4 }), fc.nat(whole.length), async (changes, cut) => {
			const bytes = Buffer.from(whole);
			for (const [at, value] of changes) bytes[at] = value;
			const { taken } = await take(cut % 3 === 0 ? bytes.subarray(0, cut) : bytes);
			expect(["read", "absent", "refused"]).toContain(taken.state);
		}),
		{ numRuns: 100 },
	);
});

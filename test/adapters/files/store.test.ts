import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, symlinkSync, truncateSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { fileStore, lockFolder, watchReading } from "../../../src/adapters/files/store.ts";
import { inputKinds } from "../../../src/core/input-kind.ts";
import { silent } from "../../support/fakes.ts";
import { expectFault, folderWith, temporaryFolder } from "../../support/project.ts";

const files = fileStore();

it("writes and reads text and bytes", async () => {
	const folder = temporaryFolder();
	const path = join(folder, "a.txt");
	await files.writeText(path, "zwölf\n");
	await files.writeText(path, "once more\n");
	expect(await files.readText(path, inputKinds.tensor)).toBe("once more\n");
	await files.writeBytes(path, Uint8Array.of(0, 255, 128));
	expect([...(await files.readBytes(path, inputKinds.tensor))]).toEqual([0, 255, 128]);
	expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

it("shows a reader the old file or the new one, never half of either", async () => {
	const path = join(temporaryFolder(), "turn.txt");
	const [old, fresh] = ["a".repeat(300_000), "b".repeat(300_000)];
	await files.writeText(path, old);
	let done = false;
	void (async () => {
		for (let i = 0; i < 10; i++) await files.writeText(path, i % 2 === 0 ? fresh : old);
		done = true;
	})();
	while (!done) expect([old, fresh]).toContain(await files.readText(path, inputKinds.tensor));
});

it("hashes and sizes files, and reports missing ones", async () => {
	const folder = temporaryFolder();
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
	["a file is where a folder is needed", "abc/x.json"],
	["a folder stands where the file should", "taken"],
	["the folder is not there", "absent/x.json"],
	["the kernel forbids it", "/proc/trtgate/x.json"],
])("fails when %s, and leaves nothing behind", async (_what, name) => {
	const folder = folderWith({ abc: "", "taken/inside": "" });
	const before = readdirSync(folder);
	const path = resolve(folder, name);
	await expectFault(files.writeText(path, "x"), "output-unwritable", path);
	expect(readdirSync(folder)).toEqual(before);
});

const locked = (text: string) => folderWith({ ".trtgate.lock": text });

const deadOwner = (over: object = {}) => {
	const { pid } = spawnSync(process.execPath, ["-e", "0"]);
	return JSON.stringify({ pid, host: hostname(), startedAt: "2026", born: "12345", token: "x", ...over });
};

it("lockFolder makes the folder, holds it, and releases it", async () => {
	const deep = join(temporaryFolder(), "not", "yet");
	const lock = await lockFolder(deep);
	expect(readdirSync(deep)).toEqual([".trtgate.lock"]);
	await lock.release();
	await lock.release();
	expect(readdirSync(deep)).toEqual([]);
});

it("lockFolder names the owner to the second run", async () => {
	const folder = temporaryFolder();
	const lock = await lockFolder(folder);
	const owner = `process ${process.pid} on ${hostname()}, since 2`;
	await expectFault(lockFolder(folder), "output-busy", owner, join(folder, ".trtgate.lock"));
	await lock.release();
	await (await lockFolder(folder)).release();
});

it("lockFolder passes the lock of a dead owner to one waiter at a time", async () => {
	const folder = locked(deadOwner());
	const tries = await Promise.allSettled(Array.from({ length: 10 }, () => lockFolder(folder)));
	expect(tries.filter((result) => result.status === "fulfilled")).toHaveLength(1);
	expect(JSON.parse(readFileSync(join(folder, ".trtgate.lock"), "utf8")).pid).toBe(process.pid);
});

it("lockFolder is not fooled by a new process with the number of a dead owner", async () => {
	const folder = locked(deadOwner({ pid: process.pid }));
	await (await lockFolder(folder)).release();
	expect(existsSync(join(folder, ".trtgate.lock"))).toBe(false);
});

it.each(["", "garbage", "[]", '{"pid": -1, "host": "x"}', "\0\0\0"])(
	"lockFolder takes over a lock that says %j",
	async (text) => {
		const folder = locked(text);
		await (await lockFolder(folder)).release();
	},
);

it("lockFolder reports a folder that cannot be written", async () => {
	await expectFault(lockFolder(join(process.execPath, "out")), "output-unwritable");
});

const mebibyte = 2 ** 20;

it.each([
	{ total: 1023 * mebibyte, stage: "model", calls: [] },
	{
		total: 1100 * mebibyte,
		calls: ["detail 500 MiB of 1.07 GiB read", "detail 1000 MiB of 1.07 GiB read", "detail "],
	},
	{
		total: 1100 * mebibyte,
		stage: "model",
		calls: [
			"stage model",
			"detail 500 MiB of 1.07 GiB read",
			"detail 1000 MiB of 1.07 GiB read",
			"done 1.07 GiB read",
		],
	},
])("watchReading of $total bytes, in stage $stage, shows $calls", ({ total, stage, calls }) => {
	const shown: string[] = [];
	const note = (kind: string) => (text: string) => void shown.push(`${kind} ${text}`);
	const progress = { stage: note("stage"), item: note("item"), detail: note("detail"), done: note("done") };
	const onRead = watchReading(total, progress, stage);
	for (const bytes of [500, 1, 499, 100]) onRead?.(bytes * mebibyte);
	expect(shown).toEqual(calls);
});

it("shows how much of a file of 1 GiB is hashed", async () => {
	const path = join(folderWith({ "big.plan": "" }), "big.plan");
	truncateSync(path, 1024 * mebibyte);
	// Stops the reading, which would take seconds.
	const detail = (text: string) => {
		throw new Error(text);
	};
	const hashing = fileStore({ ...silent, detail }).sha256(path, inputKinds.asset);
	await expect(hashing).rejects.toThrow("64.0 MiB of 1.00 GiB read");
});

// One run at a time in a folder, and no lock outlives its owner.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockFolder } from "../../../src/adapters/files/store.ts";

let folder = "";
const file = (): string => join(folder, ".trtgate.lock");
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "trtgate-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A lock of a process that has ended. */
const deadOwner = (over: object = {}): string => {
	const { pid } = spawnSync(process.execPath, ["-e", "0"]);
	return JSON.stringify({ pid, host: hostname(), startedAt: "2026", born: "12345", token: "x", ...over });
};

it("lockFolder makes the folder, holds it, and releases it", async () => {
	const deep = join(folder, "not", "yet");
	const lock = await lockFolder(deep);
	expect(readdirSync(deep)).toEqual([".trtgate.lock"]);
	await lock.release();
	await lock.release();
	expect(readdirSync(deep)).toEqual([]);
});

it("lockFolder names the owner to the second run", async () => {
	const lock = await lockFolder(folder);
	await expect(lockFolder(folder)).rejects.toMatchObject({
		code: "output-busy",
		message: expect.stringContaining(`process ${process.pid} on ${hostname()}, since 2`),
		fix: expect.stringContaining(file()),
	});
	await lock.release();
	await (await lockFolder(folder)).release();
});

it("lockFolder passes the lock of a dead owner to one waiter at a time", async () => {
	writeFileSync(file(), deadOwner());
	const tries = await Promise.allSettled(Array.from({ length: 10 }, () => lockFolder(folder)));
	expect(tries.filter((result) => result.status === "fulfilled")).toHaveLength(1);
	expect(JSON.parse(readFileSync(file(), "utf8")).pid).toBe(process.pid);
});

it("lockFolder is not fooled by a new process with the number of a dead owner", async () => {
	writeFileSync(file(), deadOwner({ pid: process.pid }));
	await (await lockFolder(folder)).release();
	expect(existsSync(file())).toBe(false);
});

it("lockFolder trusts an owner on another machine", async () => {
	writeFileSync(file(), deadOwner({ host: "elsewhere", born: "" }));
	await expect(lockFolder(folder)).rejects.toMatchObject({
		code: "output-busy",
		message: expect.stringContaining("on elsewhere"),
	});
});

it.each(["", "garbage", "[]", '{"pid": -1, "host": "x"}', "\0\0\0"])(
	"lockFolder takes over a lock that says %j",
	async (text) => {
		writeFileSync(file(), text);
		await (await lockFolder(folder)).release();
	},
);

it("lockFolder reports a folder that cannot be written", async () => {
	await expect(lockFolder("/proc/trtgate")).rejects.toMatchObject({ code: "output-unwritable" });
	await expect(lockFolder(join(process.execPath, "out"))).rejects.toMatchObject({
		code: "output-unwritable",
	});
});

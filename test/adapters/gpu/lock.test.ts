import { spawn } from "node:child_process";
import { existsSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { lockGpu, lockPath, staleMs } from "../../../src/adapters/gpu/lock.ts";
import { expectFault, temporaryFolder } from "../../support/project.ts";

let folder = "";
beforeEach(() => {
	folder = join(temporaryFolder(), "locks");
});

const gpuUuid = "GPU-00000000-0000-0000-0000-000000000000";
const lock = (over: Partial<Parameters<typeof lockGpu>[0]> = {}) =>
	lockGpu({ folder, gpuUuid, waitMs: 0, ...over });
const known = { pid: process.pid, host: hostname(), startedAt: "2026-01-01T00:00:00Z", born: "", token: "x" };
const owner = (over: object) => JSON.stringify({ ...known, ...over });

it("locks each GPU by itself", async () => {
	const first = await lock();
	const second = await lock({ gpuUuid: "GPU-1" });
	expect(existsSync(lockPath({ folder, gpuUuid }))).toBe(true);
	await first.release();
	await second.release();
	expect(existsSync(lockPath({ folder, gpuUuid }))).toBe(false);
});

it("waits until the owner releases it, and names the owner", async () => {
	const first = await lock();
	const waits: string[] = [];
	const release = (who: string): void => {
		waits.push(who);
		void first.release();
	};
	await (await lock({ waitMs: 600_000, onWait: release })).release();
	expect(waits).toEqual([expect.stringContaining(`process ${process.pid} on ${hostname()}`)]);
});

it("gives up after its wait, naming the owner", async () => {
	const first = await lock();
	await expectFault(lock({ waitMs: 50 }), "gpu-busy", `in use by process ${process.pid}`, folder);
	await first.release();
});

it("stops waiting when it is cancelled", async () => {
	const first = await lock();
	const stop = new AbortController();
	const waiting = lock({ waitMs: 600_000, signal: stop.signal, onWait: () => stop.abort() });
	await expectFault(waiting, "interrupted");
	await first.release();
});

it("breaks the lock of a job that was killed", async () => {
	const source = `import { lockGpu } from ${JSON.stringify(resolve("src/adapters/gpu/lock.ts"))};
			await lockGpu(${JSON.stringify({ folder, gpuUuid, waitMs: 0 })}); console.log("held"); setInterval(() => {}, 1000);`;
	const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
		stdio: ["ignore", "pipe", "ignore"],
	});
	await new Promise((done) => child.stdout.once("data", done));
	await expectFault(lock(), "gpu-busy");
	child.kill("SIGKILL");
	await new Promise((done) => child.once("close", done));
	await (await lock()).release();
});

it.each([
	["another machine", { host: "elsewhere" }],
	["another container", { space: "pid:[1]" }],
])("trusts an owner in %s as long as it renews its lock", async (_, where) => {
	await (await lock()).release();
	const path = lockPath({ folder, gpuUuid });
	writeFileSync(path, owner(where));
	await expectFault(lock(), "gpu-busy");
	const old = (Date.now() - staleMs) / 1000 - 1;
	utimesSync(path, old, old);
	await (await lock()).release();
});

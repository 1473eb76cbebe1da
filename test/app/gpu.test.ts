import { readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Machine } from "../../src/app/choose-backend.ts";
import { gpuLease, lockFolderOf, narrowDevices } from "../../src/app/gpu.ts";
import { readEnvironment } from "../../src/host/adapters/github/env.ts";
import { silent } from "../support/fakes.ts";
import { expectFault, folderWith, temporaryFolder } from "../support/project.ts";

const uuid = "GPU-00000000-0000-0000-0000-000000000000";
const device = { choice: { gpu: { uuid }, slice: null }, cuda: null } as unknown as Machine["gpu"];

function leaseOn(gpu: Machine["gpu"], folder: string, over: { waitMs?: number; signal?: AbortSignal } = {}) {
	const { signal } = new AbortController();
	return gpuLease({ gpu: async () => gpu, folder, progress: silent, signal, waitMs: 0, ...over });
}

function heldFolder() {
	const owner = { pid: process.pid, host: hostname(), startedAt: "2026-01-01T00:00:00Z", token: "x" };
	return folderWith({ [`${uuid}.lock`]: JSON.stringify(owner) });
}

it.each(["none", "unknown"] as const)("gpuLease locks nothing if the GPU is %s", async (gpu) => {
	const folder = temporaryFolder();
	await (await leaseOn(gpu, folder).take()).release();
	expect(readdirSync(folder)).toEqual([]);
});

it("gpuLease holds the GPU by its UUID until it is released", async () => {
	const folder = temporaryFolder();
	const lease = await leaseOn(device, folder).take();
	expect(readdirSync(folder)).toEqual([`${uuid}.lock`]);
	await lease.release();
	expect(readdirSync(folder)).toEqual([]);
});

it("gpuLease ends with gpu-busy if another job keeps it beyond the wait", async () => {
	const folder = heldFolder();
	await expectFault(leaseOn(device, folder, { waitMs: 50 }).take(), "gpu-busy");
});

it("gpuLease ends its wait when the run is interrupted", async () => {
	const folder = heldFolder();
	const stop = new AbortController();
	const taken = leaseOn(device, folder, { waitMs: 60_000, signal: stop.signal }).take();
	setTimeout(() => stop.abort(), 50);
	await expectFault(taken, "interrupted");
});

it("gpuLease goes on without a lock if none can be written, and reports it", async () => {
	const file = join(temporaryFolder(), "file");
	writeFileSync(file, "");
	const lease = await leaseOn(device, file).take();
	expect(lease.note).toMatch(/^The GPU is not locked, so another job may use it meanwhile: Cannot write/);
	await lease.release();
});

it("gpuLease locks in the machine's temporary folder, or in the folder TRTGATE_LOCKS", () => {
	expect(lockFolderOf(readEnvironment({}))).toMatch(/trtgate-locks$/);
	expect(lockFolderOf(readEnvironment({ TRTGATE_LOCKS: "/srv/locks" }))).toBe("/srv/locks");
});

it.each([
	[undefined, undefined, undefined],
	["0,1", undefined, "0,1"],
	["", undefined, ""],
	[undefined, "1", "1"],
	["2, 3", "1", "3"],
	["2,3", "2", ""],
	["", "0", ""],
	["GPU-aa,GPU-bb", "1", "GPU-bb"],
	["2,3", "GPU-cc", "GPU-cc"],
	[undefined, "MIG-1/2/3", "MIG-1/2/3"],
])("narrowDevices of %j with device %j in the config lets children see %j", (visible, wanted, seen) => {
	expect(narrowDevices(visible, wanted)).toBe(seen);
});

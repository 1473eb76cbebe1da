import { expect, it } from "vitest";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { program } from "../../support/ort-jobs.ts";
import { gone, until } from "../../support/until.ts";

const node = process.execPath;
const job = (...args: string[]) => ({ argv: [node, ...args] as const, timeoutMs: 600_000 });
const nothing = job("-e", "0");

it("ends every living group, grandchildren included, and starts no more", async () => {
	const processes = createProcesses();
	const lines: string[] = [];
	const onLine = (line: string) => lines.push(line);
	const both = ["forker", "sleeper"].map((name) => processes.run({ ...job(program(name)), onLine }));
	await until(() => lines.length >= 2);
	await processes.killAll();
	expect((await Promise.all(both)).map((record) => record.state)).toEqual(["aborted", "aborted"]);
	const grandchild = Number(lines.find((line) => /^\d+$/.test(line)));
	expect(await gone(grandchild)).toBe(true);
	expect(await processes.run(nothing)).toMatchObject({ state: "aborted" });
	expect(await processes.run({ ...nothing, tidying: true })).toMatchObject({ state: "exited" });
});

it("kills at once if no time is left", async () => {
	const processes = createProcesses();
	const deaf = job(program("sleeper"), "deaf");
	expect(await processes.run({ ...deaf, onLine: () => processes.killNow() })).toMatchObject({
		state: "signalled",
		signal: "SIGKILL",
	});
});

it("counts the time of children once, however many there are", async () => {
	const processes = createProcesses();
	const started = performance.now();
	const sleep = job("-e", "setTimeout(() => {}, 200)");
	await Promise.all([processes.run(sleep), processes.run(sleep)]);
	const elapsed = performance.now() - started;
	const counted = processes.childMs();
	expect(counted).toBeGreaterThan(190);
	expect(counted).toBeLessThanOrEqual(elapsed);
	await new Promise((resolve) => setTimeout(resolve, 20));
	expect(processes.childMs()).toBe(counted);
});

it("stops on killAll and on the signal of a run", async () => {
	const processes = createProcesses();
	const own = { ...nothing, signal: AbortSignal.abort() };
	expect(await processes.run(own)).toMatchObject({ state: "aborted" });
	await processes.killAll();
	expect(await processes.run(nothing)).toMatchObject({ state: "aborted" });
});

it("lays a run's environment over that of all", async () => {
	const processes = createProcesses({ env: { A: "all", B: "all" } });
	const printed = job("-p", "process.env.A + process.env.B + process.env.HOME");
	const record = await processes.run({ ...printed, env: { B: "own" } });
	expect(record.tail).toEqual(["allownundefined"]);
});

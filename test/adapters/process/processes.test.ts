import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { program } from "../../support/ort-jobs.ts";
import { until } from "../../support/until.ts";

const node = process.execPath;

function alive(pid: number): boolean {
	try {
		return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
	} catch {
		return false;
	}
}

async function gone(pid: number): Promise<boolean> {
	await until(() => !alive(pid));
	return true;
}

it("createProcesses ends every living group, grandchildren included, and starts no more", async () => {
	const processes = createProcesses();
	const lines: string[] = [];
	const run = { timeoutMs: 600_000, onLine: (line: string) => lines.push(line) };
	const both = [
		processes.run({ argv: [node, program("forker")], ...run }),
		processes.run({ argv: [node, program("sleeper")], ...run }),
	];
	await until(() => lines.length >= 2);
	await processes.killAll();
	expect((await Promise.all(both)).map((record) => record.state)).toEqual(["aborted", "aborted"]);
	const grandchild = Number(lines.find((line) => /^\d+$/.test(line)));
	expect(await gone(grandchild)).toBe(true);
	expect((await processes.run({ argv: [node, "-e", "0"], timeoutMs: 1_000 })).state).toBe("aborted");
	expect((await processes.run({ argv: [node, "-e", "0"], timeoutMs: 600_000, tidying: true })).state).toBe(
		"exited",
	);
});

it("createProcesses kills at once if no time is left", async () => {
	const processes = createProcesses();
	const running = processes.run({
		argv: [node, program("sleeper"), "deaf"],
		timeoutMs: 600_000,
		onLine: () => processes.killNow(),
	});
	expect(await running).toMatchObject({ state: "signalled", signal: "SIGKILL" });
});

it("createProcesses counts the time of children once, however many there are", async () => {
	const processes = createProcesses();
	const started = performance.now();
	const sleep = { argv: [node, "-e", "setTimeout(() => {}, 200)"] as const, timeoutMs: 600_000 };
	await Promise.all([processes.run(sleep), processes.run(sleep)]);
	const elapsed = performance.now() - started;
	const counted = processes.childMs();
	expect(counted).toBeGreaterThan(190);
	expect(counted).toBeLessThanOrEqual(elapsed);
	await new Promise((resolve) => setTimeout(resolve, 20));
	expect(processes.childMs()).toBe(counted);
});

it("createProcesses stops on the signal of its creator and on that of a run", async () => {
	const stop = new AbortController();
	const processes = createProcesses({ signal: stop.signal });
	const own = new AbortController();
	own.abort();
	expect((await processes.run({ argv: [node, "-e", "0"], timeoutMs: 1_000, signal: own.signal })).state).toBe(
		"aborted",
	);
	stop.abort();
	expect((await processes.run({ argv: [node, "-e", "0"], timeoutMs: 1_000 })).state).toBe("aborted");
});

it("createProcesses lays a run's environment over that of all", async () => {
	const processes = createProcesses({ env: { A: "all", B: "all" } });
	const argv: [string, ...string[]] = [node, "-p", "process.env.A + process.env.B + process.env.HOME"];
	const record = await processes.run({ argv, env: { B: "own" }, timeoutMs: 600_000 });
	expect(record.tail).toEqual(["allownundefined"]);
});

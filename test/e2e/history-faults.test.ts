import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readFolder } from "../../src/history/adapters/history-folder.ts";
import { fileOf, readHistory } from "../../src/history/core/files.ts";

import { buildRecord, buildRow, hash } from "../support/history-records.ts";
import {
	expectExit,
	expectRefusal,
	lockOf,
	runCli,
	runLimited,
	temporaryFolder,
	writeProject,
} from "../support/project.ts";
import { until } from "../support/until.ts";

const recordOfNight = (night: number, rows = 1) =>
	fileOf(
		buildRecord(night, {
			rows: Array.from({ length: rows }, (_, row) => buildRow({ series: `net-${row}/fp16/b1` })),
		}),
		hash,
	);

function projectOf(nights: readonly number[]): { folder: string; paths: string[] } {
	const files = nights.map((night) => [`night-${night}.json`, recordOfNight(night).text] as const);
	return {
		folder: writeProject(temporaryFolder(), Object.fromEntries(files)),
		paths: files.map(([path]) => path),
	};
}

const compact = ["history", "compact", "--folder", "kept"];
const importing = (...paths: readonly string[]) => ["history", "import", ...paths, "--folder", "kept"];

async function recordsIn(folder: string): Promise<string[]> {
	const { records, skipped } = readHistory(await readFolder(folder));
	expect(skipped).toEqual([]);
	return records.map(({ name }) => name).sort();
}

it("a history in a folder on a full disk keeps what it acknowledged, refuses the rest with the reason, and takes it later", async () => {
	const { folder: cwd, paths } = projectOf([0]);
	expectExit(await runCli(importing(...paths), { cwd }), 0);
	writeFileSync(join(cwd, "large.json"), recordOfNight(1, 60).text);
	const full = await runLimited("-f 8", importing("large.json"), cwd);
	expectRefusal(full, "disk-full", 3);
	const kept = join(cwd, "kept");
	expect(await recordsIn(kept)).toHaveLength(1);
	const left = readdirSync(kept, { recursive: true, encoding: "utf8" });
	expect(left.filter((name) => name.endsWith(".tmp"))).toEqual([]);
	expectExit(await runCli(importing("large.json"), { cwd }), 0);
	expect(await recordsIn(kept)).toHaveLength(2);
});

it("a history in a folder loses nothing when a writer and a compaction are killed at any point", async () => {
	const nights = Array.from({ length: 25 }, (_, night) => night);
	const { folder: cwd, paths } = projectOf(nights);
	const kept = join(cwd, "kept");
	const killed = (argv: readonly string[], at: () => boolean) => {
		let pid = 0;
		const run = runCli(argv, { cwd, onStart: (started) => (pid = started) });
		let isOver = false;
		void run.then(() => (isOver = true));
		return until(() => at() || isOver).then(() => {
			if (!isOver) process.kill(pid, "SIGKILL");
			return run;
		});
	};
	await killed(importing(...paths), () => existsSync(join(kept, "runs/2026/01")));
	await recordsIn(kept);
	expectExit(await runCli(importing(...paths), { cwd }), 0);
	expect(await recordsIn(kept)).toHaveLength(nights.length);
	await killed(compact, () => existsSync(join(kept, "months")));
	expect(await recordsIn(kept)).toHaveLength(nights.length);
	expectExit(await runCli(compact, { cwd }), 0);
	expect(await recordsIn(kept)).toHaveLength(nights.length);
	expect(existsSync(join(kept, "months/2026-01.jsonl.gz"))).toBe(true);
});

it("a history in a folder breaks the lock of another machine's compaction after a day, and no sooner", async () => {
	const { folder: cwd, paths } = projectOf([0]);
	await runCli(importing(...paths), { cwd });
	const lock = join(cwd, "kept", ".trtgate.lock");
	writeFileSync(lock, lockOf({ pid: 7, host: `not-${hostname()}` }));
	expectRefusal(await runCli(compact, { cwd }), "output-busy");
	utimesSync(lock, 1, 1);
	expectExit(await runCli(compact, { cwd }), 0);
	expect(await recordsIn(join(cwd, "kept"))).toHaveLength(1);
});

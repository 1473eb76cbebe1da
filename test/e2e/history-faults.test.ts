import { spawn } from "node:child_process";
import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { readFolder } from "../../src/history/adapters/history-folder.ts";
import { fileOf, readHistory } from "../../src/history/core/files.ts";
import { outputOf } from "../support/child-output.ts";
import { buildRecord, buildRow, hash } from "../support/history-records.ts";
import { runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { until } from "../support/until.ts";

const recordOfNight = (night: number, rows = 1) =>
	fileOf(
		buildRecord(night, {
			rows: Array.from({ length: rows }, (_, row) => buildRow({ series: `net-${row}/fp16/b1` })),
		}),
		hash,
	);

function projectOf(nights: readonly number[], rows?: number): { folder: string; paths: string[] } {
	const files = nights.map((night) => [`night-${night}.json`, recordOfNight(night, rows).text] as const);
	return {
		folder: writeProject(temporaryFolder(), Object.fromEntries(files)),
		paths: files.map(([path]) => path),
	};
}

async function recordsIn(folder: string): Promise<string[]> {
	const { records, skipped } = readHistory(await readFolder(folder));
	expect(skipped).toEqual([]);
	return records.map(({ name }) => name).sort();
}

it("a history in a folder on a full disk keeps what it acknowledged, refuses the rest with the reason, and takes it later", async () => {
	const { folder, paths } = projectOf([0]);
	expect(await runCli(["history", "import", ...paths, "--folder", "kept"], { cwd: folder })).toMatchObject({
		exit: 0,
	});
	const large = recordOfNight(1, 60);
	writeFileSync(join(folder, "large.json"), large.text);
	const limited = [
		"-c",
		'ulimit -f 8; exec "$@"',
		"sh",
		process.execPath,
		resolve("dist/cli.js"),
		"history",
		"import",
		"large.json",
	];
	const full = await outputOf(
		spawn("sh", [...limited, "--folder", "kept"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] }),
	);
	expect(full).toMatchObject({ exit: 3, stderr: expect.stringContaining("disk-full") });
	expect(await recordsIn(join(folder, "kept"))).toHaveLength(1);
	expect(
		readdirSync(join(folder, "kept"), { recursive: true, encoding: "utf8" }).filter((name) =>
			name.endsWith(".tmp"),
		),
	).toEqual([]);
	expect(
		await runCli(["history", "import", "large.json", "--folder", "kept"], { cwd: folder }),
	).toMatchObject({ exit: 0 });
	expect(await recordsIn(join(folder, "kept"))).toHaveLength(2);
});

it("a history in a folder loses nothing when a writer and a compaction are killed at any point", async () => {
	const nights = Array.from({ length: 25 }, (_, night) => night);
	const { folder, paths } = projectOf(nights);
	const kept = join(folder, "kept");
	const killed = (argv: readonly string[], at: () => boolean) => {
		let pid = 0;
		const run = runCli(argv, { cwd: folder, onStart: (started) => (pid = started) });
		let isOver = false;
		void run.then(() => (isOver = true));
		return until(() => at() || isOver).then(() => {
			if (!isOver) process.kill(pid, "SIGKILL");
			return run;
		});
	};
	await killed(["history", "import", ...paths, "--folder", "kept"], () =>
		existsSync(join(kept, "runs/2026/01")),
	);
	await recordsIn(kept);
	expect(await runCli(["history", "import", ...paths, "--folder", "kept"], { cwd: folder })).toMatchObject({
		exit: 0,
	});
	expect(await recordsIn(kept)).toHaveLength(nights.length);
	await killed(["history", "compact", "--folder", "kept"], () => existsSync(join(kept, "months")));
	expect(await recordsIn(kept)).toHaveLength(nights.length);
	expect(await runCli(["history", "compact", "--folder", "kept"], { cwd: folder })).toMatchObject({
		exit: 0,
	});
	expect(await recordsIn(kept)).toHaveLength(nights.length);
	expect(existsSync(join(kept, "months/2026-01.jsonl.gz"))).toBe(true);
});

it("a history in a folder breaks the lock of another machine's compaction after a day, and no sooner", async () => {
	const { folder, paths } = projectOf([0]);
	await runCli(["history", "import", ...paths, "--folder", "kept"], { cwd: folder });
	const lock = join(folder, "kept", ".trtgate.lock");
	writeFileSync(
		lock,
		JSON.stringify({
			pid: 7,
			host: `not-${hostname()}`,
			space: "",
			startedAt: "2026-01-01T00:00:00Z",
			born: "",
			token: "0",
		}),
	);
	expect(await runCli(["history", "compact", "--folder", "kept"], { cwd: folder })).toMatchObject({
		exit: 2,
		stderr: expect.stringContaining("output-busy"),
	});
	utimesSync(lock, 1, 1);
	expect(await runCli(["history", "compact", "--folder", "kept"], { cwd: folder })).toMatchObject({
		exit: 0,
	});
	expect(await recordsIn(join(folder, "kept"))).toHaveLength(1);
});

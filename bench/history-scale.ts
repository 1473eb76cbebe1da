// A long history: 100 series × so many runs, compacted. What is fetched, how long an append takes, time, size and first paint of the page,
// and whether they grow in proportion. `npm run build && node bench/history-scale.ts 1000 10000`; `CHROMIUM` names the browser.

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import type { HistoryRecord } from "../generated/history.ts";
import { buildRecord, short } from "../test/support/history-records.ts";
import { type Random, randomFrom } from "../test/support/random.ts";
import { firstPaintMs } from "./first-paint.ts";

const seriesCount = 100;
const limits = { fetchedBytes: 90e6, appendSeconds: 3, pageBytes: 5e6, seconds: 15, paintMs: 1000 };
type Measured = typeof limits;

/** Four runs a day; every engine is built again for each run, and a tenth of the models changes. */
function recordOf(run: number, random: Random, models: number[]): HistoryRecord {
	const rows = models.map((version, index) => {
		const ppm = Math.round(900 * random.normal());
		const half = 1500 + Math.round(200 * random.uniform());
		const content = (of: number) => ({
			model: short(`${index} ${of}`),
			recipe: short(`recipe ${index}`),
			ns: Math.round(600_000 * (1 + 0.01 * random.normal())),
		});
		if (random.uniform() < 0.1) models[index] = version + 1;
		const plan = createHash("sha256").update(`${run} ${index}`).digest("hex").slice(0, 12);
		const head = {
			...content(version),
			plan,
			structure: short(`layers ${index}`),
			bytes: 5_000_000 + index,
			memoryBytes: 80_000_000,
		};
		return {
			series: `net-${index}/fp16/b1`,
			kind: "engine" as const,
			ratio: { ppm, halfPpm: half, pairs: 8, sdPpm: 1200 + Math.round(300 * random.uniform()) },
			base: content(0),
			head,
			errors: { "out relative-l2": Number((1e-3 * (1 + 0.01 * random.normal())).toPrecision(4)) },
		};
	});
	const at = new Date(Date.UTC(2019, 0, 1) + run * 6 * 3600_000).toISOString();
	return {
		...buildRecord(0),
		at,
		source: short(`${run}`),
		run: String(run),
		commit: createHash("sha1").update(`${run}`).digest("hex"),
		machine: { gpu: "NVIDIA H200", driverBranch: "580", tensorrt: "10.6.0", host: `h-${run % 5}` },
		rows,
	};
}

async function measure(runs: number): Promise<Measured> {
	const root = mkdtempSync(join(tmpdir(), "trtgate-scale-"));
	const random = randomFrom(1);
	const models = new Array<number>(seriesCount).fill(0);
	const months = new Map<string, { name: string; record: HistoryRecord }[]>();
	mkdirSync(join(root, "months"));
	const flush = (): void => {
		for (const [month, records] of months)
			writeFileSync(
				join(root, "months", `${month}.jsonl.gz`),
				gzipSync(records.map((record) => `${JSON.stringify(record)}\n`).join("")),
			);
		months.clear();
	};
	for (let run = 0; run < runs; run += 1) {
		const record = recordOf(run, random, models);
		const month = record.at.slice(0, 7);
		if (!months.has(month)) flush();
		months.set(month, [...(months.get(month) ?? []), { name: `${run}.json`, record }]);
	}
	flush();
	// As git stores and sends it.
	execFileSync("git", ["init", "--quiet"], { cwd: root });
	execFileSync("git", ["add", "."], { cwd: root });
	execFileSync(
		"git",
		["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "--quiet", "-m", "x"],
		{ cwd: root },
	);
	execFileSync("git", ["gc", "--quiet"], { cwd: root });
	const packed = execFileSync("git", ["count-objects", "-v"], { cwd: root, encoding: "utf8" });
	const fetchedBytes = Number(/size-pack: (\d+)/.exec(packed)?.[1]) * 1024;
	const appendSeconds = append(root, recordOf(runs, random, models));
	const page = join(root, "page.html");
	const startedMs = performance.now();
	const made = spawnSync(process.execPath, ["dist/cli.js", "trend", root, "--out", page], {
		encoding: "utf8",
	});
	const seconds = (performance.now() - startedMs) / 1000;
	if (made.status !== 0) throw new Error(made.stderr);
	const pageBytes = statSync(page).size;
	const paintMs = await firstPaintMs(page, "390,844");
	rmSync(root, { recursive: true });
	return { fetchedBytes, appendSeconds, pageBytes, seconds, paintMs };
}

/** Seconds, from a clone of a remote that has the history on a branch. */
function append(root: string, record: HistoryRecord): number {
	const git = (...argv: string[]) =>
		execFileSync("git", argv, { cwd: root, stdio: ["ignore", "pipe", "ignore"] });
	git("clone", "--quiet", "--bare", ".", ".git/remote.git");
	git("--git-dir=.git/remote.git", "config", "uploadpack.allowFilter", "true");
	const branch = git("rev-parse", "--abbrev-ref", "HEAD").toString().trim();
	git("remote", "add", "origin", `file://${join(root, ".git/remote.git")}`);
	writeFileSync(join(root, ".git/record.json"), JSON.stringify(record));
	const startedMs = performance.now();
	execFileSync(
		process.execPath,
		[resolve("dist/cli.js"), "history", "import", ".git/record.json", "--branch", branch],
		{
			cwd: root,
			stdio: "ignore",
		},
	);
	return (performance.now() - startedMs) / 1000;
}

process.stdout.write("runs | fetched | append | page | made in | first paint\n---|---|---|---|---|---\n");
for (const runs of process.argv.slice(2).map(Number)) {
	const { fetchedBytes, appendSeconds, pageBytes, seconds, paintMs } = await measure(runs);
	process.stdout.write(
		`${runs} | ${(fetchedBytes / 1e6).toFixed(1)} MB (limit ${limits.fetchedBytes / 1e6}) | ${appendSeconds.toFixed(1)} s (limit ${limits.appendSeconds}) | ${(pageBytes / 1e6).toFixed(2)} MB (limit ${limits.pageBytes / 1e6}) | ${seconds.toFixed(1)} s (limit ${limits.seconds}) | ${Math.round(paintMs)} ms (limit ${limits.paintMs})\n`,
	);
}

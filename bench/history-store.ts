// The nights of bench/history.ts through the built product: each is added by `trtgate history import` to a branch of a real git repository,
// from one of five clones as the machine of the night, and read back by `trtgate trend --json` from another.
// `npm run build && node bench/history-store.ts [SEED NIGHTS]`, or `node bench/history-store.ts writers COUNT`: so many add a record at once.
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { planOf, simulateNights } from "../test/support/history-nights.ts";
import { type ShownTrend, scoreShown } from "./history-shown.ts";

const run = promisify(execFile);
const cli = resolve(process.env["TRTGATE_DIST"] ?? "dist", "cli.js");
const root = mkdtempSync(join(tmpdir(), "trtgate-nights-"));
const git = (...argv: string[]) =>
	execFileSync("git", argv, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
git("init", "--quiet", "--bare", "remote.git");
// As GitHub does.
git("--git-dir=remote.git", "config", "uploadpack.allowFilter", "true");
for (let host = 0; host < 5; host += 1) git("clone", "--quiet", "remote.git", `host-${host}`);
git("clone", "--quiet", "remote.git", "reader");
const branch = "trtgate-history";
const trtgate = (cwd: string, ...argv: string[]) =>
	run(process.execPath, [cli, ...argv, "--branch", branch], {
		cwd: join(root, cwd),
		maxBuffer: 64 * 1024 * 1024,
	});

const addedMs: number[] = [];
async function add(host: string, night: number, record: object): Promise<void> {
	writeFileSync(join(root, host, `${night}.json`), JSON.stringify(record));
	const startMs = performance.now();
	await trtgate(host, "history", "import", `${night}.json`);
	addedMs.push(performance.now() - startMs);
}

function addedText(): string {
	addedMs.sort((left, right) => left - right);
	return `appended in ${Math.round(addedMs[Math.floor(addedMs.length / 2)] ?? 0)} ms (median), ${Math.round(addedMs.at(-1) ?? 0)} ms (longest)`;
}

async function playNights(seed: number, nights: number): Promise<string> {
	const plan = planOf(seed);
	const simulated = simulateNights({
		...plan,
		nights,
		events: plan.events.filter(({ night }) => night < nights),
	});
	const shown: ShownTrend[] = [];
	for (const [night, { record }] of simulated.records.entries()) {
		await add(record.machine["host"] ?? "host-0", night, record);
		if (night % 30 === 29) await trtgate("reader", "history", "compact");
		shown.push(JSON.parse((await trtgate("reader", "trend", "--json")).stdout) as ShownTrend);
	}
	const kept = git("--git-dir=remote.git", "count-objects", "-vH").replaceAll("\n", ", ");
	return `${JSON.stringify(scoreShown(shown, simulated), null, "\t")}\n${addedText()}; remote: ${kept}`;
}

async function playWriters(count: number): Promise<string> {
	const { records } = simulateNights({ ...planOf(1), nights: count, events: [] });
	const startMs = performance.now();
	await Promise.all(records.map(({ record }, index) => add(`host-${index % 5}`, index, record)));
	const seconds = (performance.now() - startMs) / 1000;
	const kept = git("--git-dir=remote.git", "ls-tree", "-r", "--name-only", branch).split("\n");
	return `${count} writers at once: ${kept.length} records kept after ${seconds.toFixed(0)} s; ${addedText()}`;
}

const [first, second] = process.argv.slice(2);
const text =
	first === "writers"
		? await playWriters(Number(second ?? 50))
		: await playNights(Number(first ?? 1), Number(second ?? 200));
process.stdout.write(`${text}\n`);
rmSync(root, { recursive: true });

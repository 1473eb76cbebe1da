// The nights of bench/history.ts through the built product: each is added by `trtgate history import` to a branch of a real git repository,
// from one of five clones as the machine of the night, and read back by `trtgate trend --json` from another.
// `npm run build && node bench/history-store.ts [SEED NIGHTS]`
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { planOf, simulateNights } from "../test/support/history-nights.ts";
import { levelErrorOf, type ShownTrend, scoreShown } from "../test/support/history-shown.ts";

const [seed = 1, nights = 200] = process.argv.slice(2).map(Number);
const run = promisify(execFile);
const cli = resolve(process.env["TRTGATE_DIST"] ?? "dist", "cli.js");
const root = mkdtempSync(join(tmpdir(), "trtgate-nights-"));
const git = (...argv: string[]) => execFileSync("git", argv, { cwd: root, encoding: "utf8" }).trim();
git("init", "--quiet", "--bare", "remote.git");
for (let host = 0; host < 5; host += 1) git("clone", "--quiet", "remote.git", `host-${host}`);
git("clone", "--quiet", "remote.git", "reader");
const store = ["--branch", "trtgate-history"];
const trtgate = (cwd: string, ...argv: string[]) =>
	run(process.execPath, [cli, ...argv, ...store], { cwd: join(root, cwd), maxBuffer: 64 * 1024 * 1024 });

const plan = planOf(seed);
const simulated = simulateNights({ ...plan, nights, events: plan.events.filter(({ night }) => night < nights) });
const shown: ShownTrend[] = [];
const addedMs: number[] = [];
for (const [night, { record }] of simulated.records.entries()) {
	const host = record.machine["host"] ?? "host-0";
	writeFileSync(join(root, host, "record.json"), JSON.stringify(record));
	const startMs = performance.now();
	await trtgate(host, "history", "import", "record.json");
	addedMs.push(performance.now() - startMs);
	if (night % 30 === 29) await trtgate("reader", "history", "compact");
	shown.push(JSON.parse((await trtgate("reader", "trend", "--json")).stdout) as ShownTrend);
}
const kept = git("--git-dir=remote.git", "count-objects", "-vH").replaceAll("\n", ", ");
addedMs.sort((left, right) => left - right);
const levelError = levelErrorOf(readFileSync(join(root, "reader", "trtgate-trend.html"), "utf8"), simulated);
const score = { ...scoreShown(shown, simulated), levelError };
process.stdout.write(
	`${JSON.stringify(score, null, "\t")}\nappended in ${Math.round(addedMs[Math.floor(addedMs.length / 2)] ?? 0)} ms (median), ${Math.round(addedMs.at(-1) ?? 0)} ms (longest); remote: ${kept}\n`,
);
rmSync(root, { recursive: true });

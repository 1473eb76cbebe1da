// How long a comment is: every recording in this repository as a result, its comment rendered as a pull request gets it, and its lines
// counted. Writes the table in bench/comments.md. node bench/comments.ts [FOLDER]: the folder keeps results and comments.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Result } from "../generated/result.ts";
import { renderComment } from "../src/core/report/comment.ts";
import {
	buildComparison,
	buildGate,
	buildResult,
	buildStats,
	buildWorkload,
} from "../test/support/build-result.ts";
import { type DevicePair, devicePairs } from "../test/support/device-engines.ts";
import { type Changes, openPlay } from "../test/support/github-play.ts";
import { type AtEnd, readResult } from "../test/support/project.ts";
import { diffOf } from "../test/support/recorded-engines.ts";
import { shownLines } from "../test/support/shown-lines.ts";
import { replayUpgrade } from "../test/support/upgrade-project.ts";
import { type Net, runReplayed } from "./replayed-project.ts";

const limits = { medianLines: 12, passLines: 3 };
/** What GitHub shows of a comment's text on a wide screen. */
const columns = 120;

interface Recorded {
	name: string;
	result: Result;
}

interface Counted {
	name: string;
	outcome: string;
	lines: number;
	wrapped: number;
	folded: number;
}

const strict: Changes = [
	[/^ {4}golden:.*\n/m, ""],
	[/$/, "gates: { latency: { warn: 2%, fail: 3% } }\n"],
];

async function playedComparisons(atEnd: AtEnd): Promise<Recorded[]> {
	const found: Recorded[] = [];
	for (const comparison of ["same-model", "slower-head", "wrong-head"] as const)
		for (const [gates, changes] of [
			["default gates", []],
			["no golden, latency fails at 3 %", strict],
		] as const) {
			const play = await openPlay(atEnd);
			const played = await play.pull(play.sides(comparison, changes), { replay: { comparison } });
			found.push({ name: `comparison ${comparison}, ${gates}`, result: played.result() });
		}
	return found;
}

function demos(folder: string): Recorded[] {
	const out = join(folder, "demo");
	mkdirSync(out, { recursive: true });
	const run = spawnSync(process.execPath, [resolve("dist/cli.js"), "demo", "--quiet", "--out", "out"], {
		cwd: out,
		encoding: "utf8",
	});
	if (run.status !== 0) throw new Error(run.stderr);
	return [
		{ name: "examples/recorded", result: readResult(join(out, "out/recorded")) },
		{ name: "examples/quickstart (work, counted)", result: readResult(join(out, "out")) },
	];
}

const projects: Readonly<Record<string, { nets: readonly Net[]; perModel: number }>> = {
	"one slower model, 4 workloads": { nets: ["classifier"], perModel: 4 },
	"one wrong model, 4 workloads": { nets: ["segmenter"], perModel: 4 },
	"3 models (slower, wrong, unchanged), 4 workloads each": {
		nets: ["classifier", "segmenter", "encoder"],
		perModel: 4,
	},
	"10 unchanged models, 2 workloads each": { nets: Array(10).fill("encoder"), perModel: 2 },
	"20 models (4 slower, 2 wrong), 10 workloads each": {
		nets: [...Array(4).fill("classifier"), ...Array(2).fill("segmenter"), ...Array(14).fill("encoder")],
		perModel: 10,
	},
};

async function replayedProjects(folder: string): Promise<Recorded[]> {
	const found: Recorded[] = [];
	for (const [name, project] of Object.entries(projects)) {
		const own = join(folder, `project-${found.length}`);
		const result = await runReplayed({
			...project,
			measure: "pairs: [5, 8], unchanged-models: rebuild",
			folder: own,
		});
		found.push({ name: `H200, ${name}`, result });
	}
	return found;
}

/** Two engines that were built and timed on an H200, judged by the default gates. */
function plantedResult({ base, name, engines, enginesMs, timedHalfWidthMs }: DevicePair): Result {
	const change = enginesMs.head / enginesMs.base - 1;
	const half = timedHalfWidthMs / enginesMs.base;
	const interval: [number, number] = [change - half, change + half];
	const verdict =
		interval[0] > 0 && change >= 0.02
			? "regressed"
			: interval[1] < 0 && change <= -0.02
				? "improved"
				: "unchanged";
	const status = verdict !== "regressed" ? "pass" : change >= 0.1 ? "fail" : "warn";
	const subject = { model: base, engine: "fp16", workload: "recorded" };
	const workload = buildWorkload({
		...subject,
		latency: buildComparison({ verdict, estimate: change, interval, excluded: interval[1] }),
		base: buildStats(enginesMs.base),
		head: buildStats(enginesMs.head),
		...(verdict !== "unchanged" && {
			explanation: diffOf(engines.base, engines.head, { gpu: "NVIDIA H200", enginesMs }),
		}),
	});
	const message = `${name}: ${(100 * change).toFixed(1)} %.`;
	return buildResult({
		outcome: status,
		builds: [],
		golden: [],
		workloads: [workload],
		gates: [buildGate({ ...subject, status, message })],
	});
}

async function recordedResults(folder: string, atEnd: AtEnd): Promise<Recorded[]> {
	return [
		...(await playedComparisons(atEnd)),
		{ name: "upgrade 8.6.1 → 10.6.0", result: (await replayUpgrade(undefined, atEnd)).result() },
		...demos(folder),
		...(await replayedProjects(folder)),
		...devicePairs().map((pair) => ({
			name: `planted, ${pair.recording}: ${pair.name}`,
			result: plantedResult(pair),
		})),
	];
}

const run = "https://github.com/acme/engines/actions/runs/1234567890";
const marker = { id: "trtgate.yml", runId: 1_234_567_890, attempt: 1, sha: "c".repeat(40) };
const links = { report: `${run}/artifacts/1234567891`, artifact: `${run}/artifacts/1234567892`, run };

function commentOf(result: Result): string {
	return renderComment(result, marker, { links });
}

/** As a reader sees it: without addresses, marks and tags. */
function visibleText(line: string): string {
	return line.replace(/\]\([^)]*\)/g, "").replace(/<[^>]*>|[*`[\\]/g, "");
}

function countLines({ name, result }: Recorded): Counted {
	const text = commentOf(result);
	const shown = shownLines(text).filter((line) => !/^\|[-:|]+\|$/.test(line));
	const all = text.split("\n").filter((line) => line !== "" && !/^<|^\|[-:|]+\|$/.test(line));
	const wrapped = shown.map((line) =>
		line.startsWith("|") ? 1 : Math.ceil(visibleText(line).length / columns),
	);
	return {
		...{
			name,
			outcome: result.outcome,
			lines: shown.length,
			folded: all.filter((line) => !shown.includes(line)).length,
		},
		wrapped: wrapped.reduce((sum, count) => sum + count, 0),
	};
}

function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
}

function summary(name: string, rows: readonly Counted[]): string {
	const of = (key: "lines" | "wrapped" | "folded") => rows.map((row) => row[key]);
	const both = (key: "lines" | "wrapped" | "folded") => `${median(of(key))} / ${Math.max(...of(key))}`;
	return `| ${name} | ${rows.length} | ${both("lines")} | ${both("wrapped")} | ${both("folded")} |`;
}

function tables(rows: readonly Counted[]): string {
	const planted = rows.filter(({ name }) => name.startsWith("planted"));
	const whole = rows.filter((row) => !planted.includes(row));
	const groups: [string, readonly Counted[]][] = [
		["whole runs", whole],
		["pairs of engines, recorded with their times", planted],
		["all that pass", rows.filter(({ outcome }) => outcome === "pass")],
		["all", rows],
	];
	return [
		"| results | count | lines, median / most | wrapped | folded |",
		"|---|--:|--:|--:|--:|",
		...groups.map(([name, some]) => summary(name, some)),
		"",
		"| whole run | outcome | lines | wrapped | folded |",
		"|---|---|--:|--:|--:|",
		...whole.map((row) => `| ${row.name} | ${row.outcome} | ${row.lines} | ${row.wrapped} | ${row.folded} |`),
	].join("\n");
}

const ends: (() => void | Promise<void>)[] = [];
const atEnd: AtEnd = (clean) => void ends.push(clean);
const [kept] = process.argv.slice(2);
const folder = kept ?? mkdtempSync(join(tmpdir(), "trtgate-comments-"));
try {
	const found = await recordedResults(folder, atEnd);
	if (kept !== undefined) {
		writeFileSync(join(kept, "results.json"), JSON.stringify(found));
		writeFileSync(
			join(kept, "comments.md"),
			found.map(({ name, result }) => `# ${name}\n\n${commentOf(result)}`).join("\n---\n\n"),
		);
	}
	const rows = found.map(countLines);
	const page = readFileSync("bench/comments.md", "utf8");
	const marked = /(?<=<!-- begin: comments -->\n)[\s\S]*(?=<!-- end: comments -->)/;
	const text = tables(rows);
	writeFileSync(
		"bench/comments.md",
		page.replace(marked, () => `${text}\n`),
	);
	console.log(text);
	const longest = Math.max(...rows.flatMap(({ outcome, lines }) => (outcome === "pass" ? [lines] : [])));
	if (median(rows.map(({ lines }) => lines)) > limits.medianLines || longest > limits.passLines)
		process.exitCode = 1;
} finally {
	for (const end of ends.reverse()) await end();
	if (kept === undefined) rmSync(folder, { recursive: true });
}

// Runs trtexec once and classifies the run: by its files, then its log, its exit code last.
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Diagnosis } from "../../core/diagnosis.ts";
import { diagnose } from "../../formats/trtexec/diagnose.ts";
import { createLogScan, type LogScan } from "../../formats/trtexec/log-scan.ts";
import type { WrittenFile } from "../../formats/trtexec/recording.ts";
import { type LogLevel, type LogLine, parseLogLine } from "../../formats/trtexec/transcript.ts";
import type { ProcessRecord } from "../process/spawn.ts";
import type { TrtexecContext } from "./context.ts";

export interface RunJob {
	argv: readonly string[];
	/** Absolute folder of this run alone. */
	cwd: string;
	logPath: string;
	timeoutMs: number;
	/** Files that the run must write, as argv has them. */
	writes: readonly string[];
	/** Files that it reads, with their sizes. */
	inputs?: readonly WrittenFile[];
	/** Digests of the plan after the build and now. */
	plan?: { builtSha256: string; sha256: string };
	/** Whatever else reads the log. */
	readers?: readonly { feed(line: LogLine): void }[];
}

export interface TrtexecRun {
	record: ProcessRecord;
	scan: LogScan;
	diagnosis: Diagnosis;
	/** Sizes of what `writes` names, where it is there. */
	wrote: readonly WrittenFile[];
}

/** Lines of one level that are searched for reasons: a flood beyond them only goes to the log, and its end is kept. */
const maxSearched = 5_000;
const keptLast = 200;

/** @throws ConfigError output-unwritable, ToolError disk-full of the log. */
export async function runTrtexec(job: RunJob, context: TrtexecContext): Promise<TrtexecRun> {
	const scanner = createLogScan();
	const lines = createLineFilter((line) => {
		scanner.feed(line);
		for (const reader of job.readers ?? []) reader.feed(line);
	});
	const record = await context.processes.run({
		argv: [context.trtexec.program, ...job.argv],
		cwd: job.cwd,
		logPath: job.logPath,
		timeoutMs: job.timeoutMs,
		onLine: lines.push,
	});
	lines.end();
	const scan = scanner.result();
	const { wrote, absent } = await lookFor(job.writes, job.cwd);
	return { record, scan, wrote, diagnosis: diagnoseRun({ record, scan, wrote, absent }, job, context) };
}

/** Numbers the lines as they come, and passes on what is worth a search. */
function createLineFilter(take: (line: LogLine) => void): { push(text: string): void; end(): void } {
	const last: LogLine[] = [];
	const passed = new Map<LogLevel, number>();
	let count = 0;
	return {
		push(text) {
			count += 1;
			const line = parseLogLine(text, count);
			const ofLevel = passed.get(line.level) ?? 0;
			if (ofLevel < maxSearched || text.startsWith("&&&&")) {
				passed.set(line.level, ofLevel + 1);
				return take(line);
			}
			last.push(line);
			if (last.length >= 2 * keptLast) last.splice(0, keptLast);
		},
		end() {
			for (const line of last) take(line);
		},
	};
}

async function lookFor(paths: readonly string[], cwd: string): Promise<{ wrote: WrittenFile[]; absent: string[] }> {
	const wrote: WrittenFile[] = [];
	const absent: string[] = [];
	for (const path of paths) {
		const found = await stat(resolve(cwd, path)).catch(() => null);
		if (found?.isFile()) wrote.push({ path, bytes: found.size });
		else absent.push(path);
	}
	return { wrote, absent };
}

interface Seen {
	record: ProcessRecord;
	scan: LogScan;
	wrote: readonly WrittenFile[];
	absent: readonly string[];
}

function diagnoseRun({ record, scan, wrote, absent }: Seen, job: RunJob, context: TrtexecContext): Diagnosis {
	const { version } = scan.facts;
	if (version !== null && version.text !== context.trtexec.version.text) return replaced(version.text, context);
	return diagnose({
		scan,
		exitCode: record.exitCode,
		signal: record.signal,
		timedOut: record.state === "timed-out",
		spawnError: record.state === "not-started" ? record.problem : null,
		argv: record.argv,
		wrote,
		absent,
		...(job.inputs === undefined ? {} : { inputs: job.inputs }),
		...(job.plan === undefined ? {} : { plan: job.plan }),
	});
}

function replaced(version: string, { trtexec }: TrtexecContext): Diagnosis {
	return {
		code: "version-changed",
		kind: "runner",
		title: `trtexec was TensorRT ${trtexec.version.text} when this run began and is now ${version}: it was replaced during the run.`,
		fix: "Run again, and do not install anything on this machine during a measurement.",
		excerpt: [],
		also: [],
	};
}

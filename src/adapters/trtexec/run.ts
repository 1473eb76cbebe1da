// Runs trtexec once and classifies the run.
import { appendFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Diagnosis } from "../../core/errors.ts";
import { fillInput } from "../../core/timed-inputs.ts";
import type { TimingSettings } from "../../formats/trtexec/args.ts";
import { diagnose } from "../../formats/trtexec/diagnose.ts";
import { createLogScan, type LogScan } from "../../formats/trtexec/log-scan.ts";
import {
	createVerboseTest,
	type LogLevel,
	type LogLine,
	parseLogLine,
	type WrittenFile,
} from "../../formats/trtexec/transcript.ts";
import type { GoldenWorker, TimedInput, Trace, TracedCommand } from "../../ports/backend.ts";
import type { FileCache } from "../../ports/world.ts";
import { digestFile } from "../process/input-file.ts";
import { lastLines } from "../process/log.ts";
import type { Processes } from "../process/processes.ts";
import type { ProcessRecord } from "../process/spawn.ts";
import { inNewFolder, orWriteError } from "../process/write-error.ts";
import type { Trtexec } from "./find.ts";

export type Tracer = (job: TracedCommand) => Promise<Trace>;

export interface BuildCaches {
	engines: FileCache | null;
	timing: FileCache | null;
}

export interface TrtexecOptions {
	trtexec: Trtexec;
	processes: Processes;
	timing: TimingSettings;
	worker?: GoldenWorker;
	tracer?: Tracer;
	caches?: BuildCaches;
}

export interface TrtexecContext extends TrtexecOptions {
	caches: BuildCaches;
	machine: string | null;
	workerChoice?: Promise<GoldenWorker | null>;
	built: Map<string, BuiltPlan>;
	/** Models with a plan that trtexec did not build, so that how large its weights are is not known. */
	ownPlans: Set<string>;
	cacheEntries: Map<string, number>;
	note(sentence: string): void;
}

interface BuiltPlan {
	sha256: string;
	bytes: number;
	modifiedMs: number;
	weightsBytes: number | null;
}

interface RunJob {
	argv: readonly string[];
	cwd: string;
	logPath: string;
	timeoutMs: number;
	writes?: readonly string[];
	inputs?: readonly WrittenFile[];
	plan?: { builtSha256: string; sha256: string };
	readers?: readonly { feed(line: LogLine): void }[];
	/** Makes the run verbose and gets all lines; the log and the diagnosis get only those that are not verbose. */
	onVerbose?: (text: string) => void;
}

export interface TrtexecRun {
	record: ProcessRecord;
	scan: LogScan;
	diagnosis: Diagnosis;
}

/** Lines of one level that are searched; a flood beyond them only goes to the log, and its end is kept. */
const maxSearched = 5_000;
const keptLast = 200;

export async function runTrtexec(job: RunJob, context: TrtexecContext): Promise<TrtexecRun> {
	const scanner = createLogScan();
	const lines = createLineFilter((line) => {
		scanner.feed(line);
		for (const reader of job.readers ?? []) reader.feed(line);
	});
	const { onVerbose } = job;
	const lastVerbose = lastLines(keptLast);
	const record = await context.processes.run({
		argv: [context.trtexec.program, ...job.argv, ...(onVerbose === undefined ? [] : ["--verbose"])],
		cwd: job.cwd,
		logPath: job.logPath,
		timeoutMs: job.timeoutMs,
		isNoise: onVerbose === undefined ? undefined : createVerboseTest(),
		onLine(text, isVerbose) {
			onVerbose?.(text);
			if (isVerbose) lastVerbose.add(text);
			else lines.push(text);
		},
	});
	lines.end();
	const scan = scanner.result();
	const { wrote, absent } = await lookFor(job.writes ?? [], job.cwd);
	if (record.exitCode !== 0 || absent.length > 0) await appendVerbose(job.logPath, lastVerbose.lines());
	const diagnosis =
		versionChanged(scan, context) ??
		diagnose({
			scan,
			...{ exitCode: record.exitCode, signal: record.signal, argv: record.argv },
			timedOut: record.state === "timed-out",
			spawnError: record.state === "not-started" ? record.problem : null,
			...{ wrote, absent, inputs: job.inputs, plan: job.plan },
		});
	return { record, scan, diagnosis };
}

async function appendVerbose(logPath: string, lines: readonly string[]) {
	if (lines.length === 0) return;
	const text = [`[trtgate: the last verbose lines, ${lines.length} of them]`, ...lines, ""].join("\n");
	await orWriteError(appendFile(logPath, text), logPath);
}

function createLineFilter(take: (line: LogLine) => void) {
	const last: LogLine[] = [];
	const passed = new Map<LogLevel, number>();
	let count = 0;
	return {
		push(text: string) {
			count += 1;
			const line = parseLogLine(text, count);
			const ofLevel = passed.get(line.level) ?? 0;
			if (ofLevel < maxSearched || text.startsWith("&&&&")) {
				passed.set(line.level, ofLevel + 1);
				take(line);
				return;
			}
			last.push(line);
			if (last.length >= 2 * keptLast) last.splice(0, keptLast);
		},
		end() {
			for (const line of last) take(line);
		},
	};
}

async function lookFor(paths: readonly string[], cwd: string) {
	const [wrote, absent]: [WrittenFile[], string[]] = [[], []];
	for (const path of paths) {
		const found = await stat(resolve(cwd, path)).catch(() => null);
		if (found?.isFile()) wrote.push({ path, bytes: found.size });
		else absent.push(path);
	}
	return { wrote, absent };
}

function versionChanged({ facts }: LogScan, { trtexec }: TrtexecContext): Diagnosis | null {
	const [before, now] = [trtexec.version.text, facts.version?.text ?? null];
	if (now === null || now === before) return null;
	return {
		code: "version-changed",
		kind: "runner",
		title: `trtexec was TensorRT ${before} when this run began and is now ${now}: it was replaced during the run.`,
		fix: "Run again, and do not install anything on this machine during a measurement.",
		excerpt: [],
		also: [],
	};
}

export function inWorkFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
	return inNewFolder("trtgate-run-", work);
}

/**
 * The files are numbered, and their paths relative: trtexec's lists cannot take every name and path. For an empty tensor
 * trtexec reserves one byte, and wants a file of that size.
 */
export function writeInputs(
	folder: string,
	inputs: readonly { name: string; shape: readonly number[]; data: Uint8Array }[],
) {
	const written = inputs.map(async ({ name, shape, data }, index) => {
		const path = `in${index}.bin`;
		const content = data.length > 0 ? data : new Uint8Array(1);
		await orWriteError(writeFile(join(folder, path), content), join(folder, path));
		return { name, shape, path, bytes: data.length };
	});
	return Promise.all(written);
}

/** TensorRT 8 and 9 take int32 where the model has int64, and read a longer file without a word. */
export const narrowsIntegers = ({ trtexec }: Pick<TrtexecContext, "trtexec">): boolean =>
	trtexec.version.major < 10;

/** trtexec's own random integers are often invalid indices. */
export function writeFilled(
	folder: string,
	{ inputs, seed }: { inputs: readonly TimedInput[]; seed: number },
	context: TrtexecContext,
) {
	const filled = inputs.map((input, index) => {
		const dtype = input.dtype === "int64" && narrowsIntegers(context) ? "int32" : input.dtype;
		return { ...input, data: fillInput({ ...input, dtype }, seed, index) };
	});
	return writeInputs(folder, filled);
}

export async function describePlan(path: string): Promise<Omit<BuiltPlan, "weightsBytes">> {
	const { size, mtimeMs } = await stat(path);
	return { sha256: await digestFile(path), bytes: size, modifiedMs: mtimeMs };
}

export async function checkPlan(
	path: string,
	context: TrtexecContext,
): Promise<{ plan?: { builtSha256: string; sha256: string } }> {
	const built = context.built.get(path);
	const found = await stat(path).catch(() => null);
	if (built === undefined || found === null) return {};
	const unchanged = found.size === built.bytes && found.mtimeMs === built.modifiedMs;
	return { plan: { builtSha256: built.sha256, sha256: unchanged ? built.sha256 : await digestFile(path) } };
}

// Reads a recorded comparison; unpacks its project.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { DType } from "../../../generated/golden.ts";
import type { Arm, BackendFacts, BuildRecord, GpuWindow } from "../../../generated/result.ts";
import { BugError } from "../../core/errors.ts";

export interface RecordedMachine {
	facts: BackendFacts;
	fingerprint: Readonly<Record<string, string>>;
	notes: readonly string[];
	engines: Readonly<Record<string, string>>;
}

export interface RecordedRun {
	wallMs: number;
	timedMs: number;
	peakMemoryBytes: number | null;
	/** Unit: 0.1 ns, the last digit that trtexec writes of such times. */
	samples: readonly number[];
	gpu: GpuWindow;
}

/** Stored as the difference from the golden, which compresses well. */
export interface RecordedOutput {
	dtype: DType;
	shape: readonly number[];
	differences: string;
	golden: string;
}

export interface RecordedArm {
	build: Pick<
		BuildRecord,
		| "durationMs"
		| "warnings"
		| "engineKind"
		| "engineBytes"
		| "engineSha256"
		| "recipe"
		| "notes"
		| "precisionCoverage"
	>;
	log: readonly string[];
	runs: readonly RecordedRun[];
	profile?: { layers: string; times: string };
	outputs: Readonly<Record<string, Readonly<Record<string, RecordedOutput>>>>;
}

type RecordedEngine = Readonly<Record<Arm, RecordedArm>>;

export interface Recording {
	machine: RecordedMachine;
	engine(id: string): Promise<RecordedEngine | null>;
	output(recorded: RecordedOutput): Promise<Uint8Array>;
}

/** For folders written by examples/recorded/make.ts: the content is trusted. */
export async function openRecording(folder: string): Promise<Recording> {
	const machine: RecordedMachine = JSON.parse(await readFile(join(folder, "recording.json"), "utf8"));
	const engines = new Map<string, Promise<RecordedEngine>>();
	const readPacked = async (file: string): Promise<Buffer> => inflate(await readFile(join(folder, file)));
	const read = async (file: string): Promise<RecordedEngine> =>
		JSON.parse((await readPacked(file)).toString("utf8"));
	return {
		machine,
		engine: async (id) => {
			const file = Object.hasOwn(machine.engines, id) ? machine.engines[id] : undefined;
			if (file === undefined) return null;
			const known = engines.get(id) ?? read(file);
			engines.set(id, known);
			return known;
		},
		output: async ({ differences, golden }) =>
			restore(await readPacked(differences), await readPacked(golden)),
	};
}

function restore(differences: Buffer, golden: Buffer) {
	const message = "A recorded output and its golden are not of one size.";
	if (differences.length !== golden.length || differences.length % 4 !== 0)
		throw new BugError({ code: "internal", message });
	const bytes = new Uint8Array(golden.length);
	const view = new DataView(bytes.buffer);
	for (let at = 0; at < bytes.length; at += 4)
		view.setInt32(at, (golden.readInt32LE(at) + differences.readInt32LE(at)) | 0, true);
	return bytes;
}

const inflate = promisify(gunzip);

export async function unpackFolder(from: string, to: string): Promise<void> {
	await rm(to, { recursive: true, force: true });
	await mkdir(to, { recursive: true });
	for (const entry of await readdir(from, { withFileTypes: true })) {
		const source = join(from, entry.name);
		if (entry.isDirectory()) await unpackFolder(source, join(to, entry.name));
		else if (entry.name.endsWith(".gz"))
			await writeFile(join(to, entry.name.slice(0, -3)), await inflate(await readFile(source)));
		else await writeFile(join(to, entry.name), await readFile(source));
	}
}

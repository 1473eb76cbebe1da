// `trtgate demo`: a replay of recorded TensorRT runs, then live networks on ONNX Runtime.
import { join, resolve } from "node:path";
import type { Result } from "../../../generated/result.ts";
import { systemClock } from "../../adapters/clock.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { openRecording, replay, unpackFolder } from "../../adapters/replay/backend.ts";
import { silentProgress } from "../../adapters/terminal/progress.ts";
import type { Progress } from "../../ports/world.ts";
import { openPageWith } from "../../stages/report.ts";
import { examplesAt } from "../compose.ts";
import { exitCodes } from "../exit.ts";
import { type GateOptions, gate } from "../gate.ts";
import { checkOutFolder, makeOutFolder } from "../out-folder.ts";
import { progressFor, stopOnSignals, type Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { showResult } from "./run.ts";
import { demoTable } from "./tables.ts";
import { tune } from "./tune.ts";

export async function demo(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, demoTable);
	const out = resolve(terminal.cwd, args.text("out"));
	const json = args.flag("json");
	const progress = progressFor(terminal, { quiet: args.flag("quiet"), json });
	await checkOutFolder(out, terminal);
	await makeOutFolder(out, fileStore());
	if (args.flag("tune")) return replayTune(out, json ? ["--json"] : [], terminal);
	const first = args.flag("recorded") ? out : join(out, "recorded");
	const replayed = await play({ out: first, ...(await recorded(first)) }, silentProgress(), terminal);
	// JSON shows only the live one of two results.
	if (first === out || !json) showResult(replayed, { json, outFolder: first }, terminal);
	if (first === out || replayed.outcome === "error") return exitOf(replayed);
	if (!args.flag("quiet"))
		terminal.err(
			"\nThat was a recording. Now live, on this machine: four small networks on ONNX Runtime, whose work is counted. Not time, not TensorRT.\n\n",
		);
	const live = await play({ out, ...quickstart(await examplesAt("quickstart")) }, progress, terminal);
	await openPageWith(replayed, live, { outFolder: out, files: fileStore() });
	showResult(live, { json, outFolder: out }, terminal);
	return exitOf(live);
}

/** As recorded: there was no time for another optimization level. */
const tuneOptions = [
	"magika.onnx",
	"--dims=unk__214=8",
	"--golden=golden",
	"--time-limit=145s",
	"--out=tuned",
	"--quiet",
];

async function replayTune(out: string, json: string[], terminal: Terminal) {
	const examples = await examplesAt("tuned");
	const cwd = join(out, "project");
	await unpackFolder(join(examples, "project"), cwd);
	const recording = await openRecording(examples);
	for (const note of recording.machine.notes) terminal.err(`${note}\n\n`);
	const clock = systemClock();
	return tune([...tuneOptions, ...json], { ...terminal, cwd }, { clock, ...replay(recording, clock) });
}

/** The demo shows a failing report on purpose. */
function exitOf({ outcome }: Result) {
	return outcome === "error" ? exitCodes.runner : exitCodes.ok;
}

async function play(
	options: Pick<GateOptions, "base" | "head" | "inputs" | "ports" | "isFresh"> & { out: string },
	progress: Progress,
	terminal: Terminal,
) {
	const { cwd, environment } = terminal;
	return (await gate({ cwd, environment, progress, ...options, onStart: stopOnSignals })).result;
}

function quickstart(examples: string) {
	const [base, head] = [join(examples, "base"), join(examples, "head")];
	return { base, head, inputs: { backend: "onnxruntime", onnxruntime: "wasm" }, isFresh: true };
}

async function recorded(out: string) {
	const examples = await examplesAt("recorded");
	const project = join(out, "project");
	for (const arm of ["base", "head"]) await unpackFolder(join(examples, arm), join(project, arm));
	const clock = systemClock();
	const { backend, telemetry } = replay(await openRecording(examples), clock);
	return {
		base: join(project, "base"),
		head: join(project, "head"),
		inputs: { backend: "onnxruntime" },
		ports: { backend, telemetry, clock },
	};
}

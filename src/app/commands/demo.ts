// `trtgate demo`: the whole gate on the quickstart with ONNX Runtime, or on a replay of recorded TensorRT runs.
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { systemClock } from "../../adapters/clock.ts";
import { replay } from "../../adapters/replay/backend.ts";
import { openRecording } from "../../adapters/replay/recording.ts";
import { unpackFolder } from "../../adapters/replay/unpack.ts";
import { ConfigError } from "../../core/errors.ts";
import { distFolder } from "../compose.ts";
import { exitCodes } from "../exit.ts";
import { type GateOptions, gate } from "../gate.ts";
import { stopOnSignals } from "../signals.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { showResult } from "./run.ts";
import { demoTable } from "./tables.ts";

type DemoOptions = Pick<GateOptions, "base" | "head" | "inputs" | "ports">;

export async function demo(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, demoTable);
	const out = args.text("out");
	const examples = join(distFolder(), "..", "examples", args.flag("recorded") ? "recorded" : "quickstart");
	await access(examples).catch(() => {
		throw new ConfigError({
			code: "usage",
			message: `The demo's models are not at ${examples}.`,
			details: { fix: "Use a complete clone or package of trtgate." },
		});
	});
	const shown = args.flag("recorded") ? await recorded(examples, resolve(terminal.cwd, out, "project")) : quickstart(examples);
	const completed = await gate({
		cwd: terminal.cwd,
		out,
		...shown,
		environment: terminal.environment,
		progress: progressFor(terminal, { quiet: args.flag("quiet"), json: args.flag("json") }),
		onStart: stopOnSignals,
	});
	if (completed.state === "ran") showResult(completed.result, { json: args.flag("json"), outFolder: completed.outFolder }, terminal);
	// The demo shows a failing report on purpose; only a run that could not finish is a failure.
	return completed.state === "ran" && completed.result.outcome === "error" ? exitCodes.runner : exitCodes.ok;
}

function quickstart(examples: string): DemoOptions {
	return { base: join(examples, "base"), head: join(examples, "head"), inputs: { backend: "onnxruntime", onnxruntime: "wasm" } };
}

/** The whole gate, on a replay of the recording. */
async function recorded(examples: string, project: string): Promise<DemoOptions> {
	for (const arm of ["base", "head"]) await unpackFolder(join(examples, arm), join(project, arm));
	const clock = systemClock();
	const { backend, telemetry } = replay(await openRecording(examples), clock);
	return {
		base: join(project, "base"),
		head: join(project, "head"),
		// Looks for neither TensorRT nor a GPU on this machine.
		inputs: { backend: "onnxruntime" },
		ports: { backend, telemetry, clock },
	};
}

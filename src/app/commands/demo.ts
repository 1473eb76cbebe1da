// `trtgate demo`: the quickstart's base and head through the whole line on ONNX Runtime.
import { access } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { distFolder } from "../compose.ts";
import { exitCodes } from "../exit.ts";
import { gate } from "../gate.ts";
import { progressFor } from "../progress.ts";
import { stopOnSignals } from "../signals.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { showResult } from "./run.ts";

export async function demo(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, { out: { type: "string" }, json: { type: "boolean" } }, { command: "demo", positionals: [] });
	const examples = join(distFolder(), "..", "examples", "quickstart");
	await access(examples).catch(() => {
		throw new ConfigError({
			code: "usage",
			message: `The demo's models are not at ${examples}.`,
			details: { fix: "Run it from a clone of the repository." },
		});
	});
	const gated = await gate({
		cwd: terminal.cwd,
		base: join(examples, "base"),
		head: join(examples, "head"),
		out: args.text("out") ?? "trtgate-demo",
		inputs: { backend: "onnxruntime", onnxruntime: "wasm" },
		environment: terminal.environment,
		progress: progressFor(terminal, { quiet: args.flag("quiet") }),
		onStart: stopOnSignals,
	});
	if (gated.state === "ran") showResult(gated.result, { json: args.flag("json"), outFolder: gated.outFolder }, terminal);
	// A red report is what the demo is for; only a run that could not finish is a failure of the demo.
	return gated.state === "ran" && gated.result.outcome === "error" ? exitCodes.runner : exitCodes.ok;
}

#!/usr/bin/env node
// Door of the command line: parse, run one command, map what it says to the exit code.
import { surviveLostOutput } from "./app/lost-output.ts";
import { refusesNode } from "./app/old-node.ts";

surviveLostOutput();
if (!refusesNode()) {
	const { runCli } = await import("./app/cli.ts");
	process.exitCode = await runCli(process.argv.slice(2));
}

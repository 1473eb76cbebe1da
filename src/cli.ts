#!/usr/bin/env node
// Door of the command line: parse, run one command, map what it says to the exit code.
import { runCli } from "./app/cli.ts";

process.exitCode = await runCli(process.argv.slice(2));

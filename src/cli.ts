#!/usr/bin/env node
// Entry point of the command line.
import { enter } from "./app/entry.ts";

await enter(async () => (await import("./app/cli.ts")).runCli(process.argv.slice(2)));

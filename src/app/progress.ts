// Which progress suits whoever is watching.
import { systemClock } from "../adapters/clock.ts";
import { groupProgress, plainProgress, silentProgress, terminalProgress } from "../adapters/terminal/progress.ts";
import type { Progress } from "../ports/world.ts";
import type { Terminal } from "./terminal.ts";

export function progressFor(terminal: Terminal, options: { quiet: boolean; json?: boolean }): Progress {
	if (options.quiet) return silentProgress();
	const stream = { write: terminal.err, columns: terminal.columns };
	if (terminal.interactive) return terminalProgress(stream, { color: terminal.color.err, clock: systemClock() });
	// Groups are made on stdout, which then holds JSON alone.
	return terminal.environment.isActions && options.json !== true
		? groupProgress({ out: terminal.echo, command: terminal.command })
		: plainProgress(stream);
}

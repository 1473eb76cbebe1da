// What people see while the gate works: a live line on a terminal, a line a step in a log, groups on GitHub, or nothing.
import type { Clock, Progress } from "../../ports/world.ts";
import type { StandardStreams } from "../process/standard-streams.ts";
import { cleanLine, fitColumns, formatWait } from "./text.ts";

/** The part of a terminal that is used. */
export interface LineStream {
	write(text: string): unknown;
	columns?: number;
}

const clearLine = "\r\u001b[2K";

export function silentProgress(): Progress {
	return { stage() {}, item() {}, detail() {}, done() {} };
}

/** One line that is redrawn during a stage; at its end, a line with its summary remains. */
export function terminalProgress(stream: LineStream, options: { color: boolean; clock: Clock }): Progress {
	const { clock } = options;
	const dim = (text: string): string => (options.color ? `\u001b[2m${text}\u001b[22m` : text);
	let now: StageNow | null = null;
	const draw = (): void => {
		if (now === null) return;
		stream.write(`${clearLine}${dim(fitColumns(describeNow(now), (stream.columns ?? 80) - 1))}`);
	};
	const close = (summary: string): void => {
		if (now === null) return;
		const result = summary === "" ? now.items.toString() : cleanLine(summary);
		stream.write(`${clearLine}${tick(options.color)} ${now.name}${dim(` · ${result} · ${formatWait(clock.now() - now.startedMs)}`)}\n`);
		now = null;
	};
	return {
		stage(name, items) {
			close("");
			now = { name: cleanLine(name), items, at: 0, label: "", detail: "", eta: "", startedMs: clock.now() };
			draw();
		},
		item(label, etaMs) {
			if (now === null) return;
			const eta = etaMs === undefined ? "" : `${formatWait(etaMs)} left`;
			now = { ...now, at: now.at + 1, label: cleanLine(label), detail: "", eta };
			draw();
		},
		detail(text) {
			if (now === null) return;
			now.detail = cleanLine(text);
			draw();
		},
		done: close,
	};
}

interface StageNow {
	name: string;
	items: number;
	at: number;
	label: string;
	detail: string;
	eta: string;
	startedMs: number;
}

function describeNow(now: StageNow): string {
	const count = now.items === 0 || now.at === 0 ? "" : ` ${Math.min(now.at, now.items)}/${now.items}`;
	return [`  ${now.name}${count}`, now.label, now.detail, now.eta].filter((part) => part !== "").join(" · ");
}

function tick(color: boolean): string {
	return color ? "\u001b[32m✓\u001b[39m" : "✓";
}

/** A line for each stage and item; details stay out of a log. */
export function plainProgress(stream: LineStream): Progress & { reset(items: number): void } {
	let items = 0;
	let at = 0;
	const reset = (count: number): void => {
		items = count;
		at = 0;
	};
	return {
		reset,
		stage(name, count) {
			reset(count);
			stream.write(`${cleanLine(name)}${count === 0 ? "" : ` (${count})`}\n`);
		},
		item(label, etaMs) {
			at += 1;
			stream.write(`  ${countOf(at, items)}${cleanLine(label)}${etaMs === undefined ? "" : ` · ${formatWait(etaMs)} left`}\n`);
		},
		detail() {},
		done(summary) {
			stream.write(`  ${cleanLine(summary)}\n`);
		},
	};
}

function countOf(at: number, items: number): string {
	return items === 0 ? "" : `[${Math.min(at, items)}/${items}] `;
}

/** A folded group for each stage in a workflow's log. */
export function groupProgress({ out, command }: Pick<StandardStreams, "out" | "command">): Progress {
	let open: string | null = null;
	const close = (): void => {
		if (open !== null) command("endgroup");
		open = null;
	};
	const lines = plainProgress({ write: out });
	return {
		stage(name, items) {
			close();
			open = cleanLine(name);
			command("group", `${open}${items === 0 ? "" : ` (${items})`}`);
			lines.reset(items);
		},
		item: lines.item,
		detail() {},
		done(summary) {
			const name = open === null ? "" : `${open}: `;
			close();
			out(`${name}${cleanLine(summary)}\n`);
		},
	};
}

// Progress for people: on a terminal, in a log, or as groups on GitHub.
import { cleanText } from "../../core/text/escape.ts";
import type { Clock, Progress } from "../../ports/world.ts";
import type { StandardStreams } from "../process/standard-streams.ts";

interface LineStream {
	write(text: string): unknown;
	columns?: number;
}

const clearLine = "\r\u001b[2K";

export function silentProgress(): Progress {
	return { stage() {}, item() {}, detail() {}, done() {} };
}

type Ticker = (tick: () => void) => void;

export function terminalProgress(
	stream: LineStream,
	{ color, clock, ticker }: { color: boolean; clock: Clock; ticker?: Ticker },
): Progress {
	let now: StageNow | null = null;
	const dim = (text: string) => (color ? `\u001b[2m${text}\u001b[22m` : text);
	const draw = (changed: Partial<StageNow> = {}) => {
		if (now === null) return;
		now = { ...now, ...changed };
		const line = describeNow(now, clock);
		stream.write(`${clearLine}${dim(fitColumns(line, (stream.columns ?? 80) - 1))}`);
	};
	ticker?.(() => draw());
	const close = (summary: string) => {
		if (now === null) return;
		const tick = color ? "\u001b[32m✓\u001b[39m" : "✓";
		const result = summary === "" ? now.items.toString() : cleanLine(summary);
		const took = formatWait(clock.now() - now.startedMs);
		stream.write(`${clearLine}${tick} ${now.name}${dim(` · ${result} · ${took}`)}\n`);
		now = null;
	};
	return {
		stage(name, items) {
			close("");
			const startedMs = clock.now();
			const nothing = { at: 0, label: "", detail: "", leftMs: null };
			now = { name: cleanLine(name), items, ...nothing, startedMs, itemMs: startedMs };
			draw();
		},
		item(label, leftMs) {
			const at = (now?.at ?? 0) + 1;
			draw({ at, label: cleanLine(label), detail: "", leftMs: leftMs ?? null, itemMs: clock.now() });
		},
		detail: (text) => draw({ detail: cleanLine(text) }),
		done: close,
	};
}

interface StageNow {
	name: string;
	items: number;
	at: number;
	label: string;
	detail: string;
	leftMs: number | null;
	startedMs: number;
	itemMs: number;
}

const shownMs = 2000;

function describeNow(now: StageNow, clock: Clock) {
	const count = now.items === 0 || now.at === 0 ? "" : ` ${Math.min(now.at, now.items)}/${now.items}`;
	const sinceMs = clock.now() - now.itemMs;
	const since = sinceMs < shownMs ? "" : formatWait(sinceMs);
	return joinParts(`  ${now.name}${count}`, now.label, now.detail, since, leftText(now.leftMs));
}

const joinParts = (...parts: string[]) => parts.filter((part) => part !== "").join(" · ");

export function leftText(leftMs: number | null): string {
	return leftMs === null || leftMs < shownMs ? "" : `${formatWait(leftMs)} left`;
}

/** A log without output for this long gets a line. */
export interface Pulse {
	clock: Clock;
	ticker: Ticker;
	afterMs: number;
}

/** @param command makes each stage a group of the workflow's log. */
export function plainProgress(
	stream: LineStream,
	pulse?: Pulse,
	command?: StandardStreams["command"],
): Progress {
	const nowMs = () => pulse?.clock.now() ?? 0;
	let [items, at, detail, itemMs, wroteMs] = [0, 0, "", 0, 0];
	let open: string | null = null;
	const write = (text: string) => {
		stream.write(`${text}\n`);
		wroteMs = nowMs();
	};
	const close = () => {
		if (open !== null) command?.("endgroup");
		open = null;
	};
	pulse?.ticker(() => {
		if (open === null || nowMs() - wroteMs < pulse.afterMs) return;
		write(`    … ${joinParts(detail, formatWait(nowMs() - itemMs))}`);
	});
	return {
		stage(name, count) {
			close();
			[open, items, at, detail] = [cleanLine(name), count, 0, ""];
			itemMs = nowMs();
			wroteMs = itemMs;
			const title = `${open}${count === 0 ? "" : ` (${count})`}`;
			if (command === undefined) write(title);
			else command("group", title);
		},
		item(label, leftMs) {
			at += 1;
			detail = "";
			itemMs = nowMs();
			const count = items === 0 ? "" : `[${Math.min(at, items)}/${items}] `;
			write(joinParts(`  ${count}${cleanLine(label)}`, leftText(leftMs ?? null)));
		},
		detail(text) {
			detail = cleanLine(text);
		},
		done(summary) {
			const group = open === null ? "" : `${open}: `;
			close();
			write(`${command === undefined ? "  " : group}${cleanLine(summary)}`);
		},
	};
}

/** A model's name must not move the cursor. */
export const cleanLine = (text: string) => cleanText(text).trim();

export function fitColumns(text: string, columns: number): string {
	const points = [...text];
	return points.length <= columns ? text : `${points.slice(0, Math.max(0, columns - 1)).join("")}…`;
}

export function formatWait(ms: number): string {
	const total = Math.max(0, Math.round(ms / 1_000));
	if (total < 60) return `${total} s`;
	const minutes = Math.floor(total / 60);
	if (minutes < 60) return total % 60 === 0 ? `${minutes} min` : `${minutes} min ${total % 60} s`;
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

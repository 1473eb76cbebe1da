// Keeps one nvidia-smi at work and hands on its lines; one that falls silent is ended.
import type { ProcessRecord } from "../process/spawn.ts";
import type { Smi } from "./devices.ts";

export interface StreamOptions {
	args: readonly string[];
	/** A silence of this length is a hang; absent where silence says nothing. */
	silenceMs?: number;
	onLine(line: string): void;
	/** It ended without being asked to. */
	onEnd(why: string): void;
}

export interface Stream {
	stop(): Promise<void>;
}

/** Longer than any job: nvidia-smi in a loop never ends of itself. */
const dayMs = 24 * 60 * 60 * 1000;
const graceMs = 500;
/** Looks in one length of silence. A loop of events that stood still itself makes up for one look, not for four. */
const looks = 4;

export function openStream(smi: Smi, options: StreamOptions): Stream {
	const stop = new AbortController();
	let asked = false;
	let silentLooks = 0;
	const { silenceMs } = options;
	const look = (): void => {
		silentLooks += 1;
		if (silentLooks > looks) stop.abort();
	};
	const timer = silenceMs === undefined ? undefined : setInterval(look, silenceMs / looks);
	timer?.unref();
	const ended = smi.processes
		.run({
			argv: [...smi.argv, ...options.args],
			timeoutMs: dayMs,
			graceMs,
			beside: true,
			signal: stop.signal,
			onLine(line) {
				silentLooks = 0;
				options.onLine(line);
			},
		})
		.then((record) => {
			clearInterval(timer);
			if (!asked) options.onEnd(describeEnd(record, silentLooks > looks ? silenceMs : undefined));
		});
	return {
		stop() {
			asked = true;
			clearInterval(timer);
			stop.abort();
			return ended;
		},
	};
}

function describeEnd(record: ProcessRecord, silenceMs: number | undefined): string {
	if (silenceMs !== undefined) return `nvidia-smi said nothing for ${silenceMs / 1000} s and was ended`;
	if (record.state === "aborted") return "nvidia-smi was interrupted";
	const end = record.exitCode === null ? (record.signal ?? record.problem) : `exit code ${record.exitCode}`;
	return `nvidia-smi ended (${end}), with the last words: ${record.tail.at(-1)?.slice(0, 200) ?? "none"}`;
}

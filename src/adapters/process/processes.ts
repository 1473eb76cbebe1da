// Runs child processes for one invocation of trtgate: knows the living ones, ends them all on Ctrl-C, adds up the time spent on them.
import { signalGroup } from "./groups.ts";
import { type ProcessOptions, type ProcessRecord, runProcess } from "./spawn.ts";

export type RunOptions = Omit<ProcessOptions, "onStart" | "onEnd">;

export interface Processes {
	run(options: RunOptions): Promise<ProcessRecord>;
	/** Ends all living groups: SIGTERM, then SIGKILL after a grace. New runs come back as aborted. */
	killAll(): Promise<void>;
	/** SIGKILL to all living groups at once; for the last moments of the process. */
	killNow(): void;
	/** Wall time during which at least one child ran. */
	childMs(): number;
}

export interface ProcessesOptions {
	/** Ends every run when it aborts. */
	signal?: AbortSignal;
	/** The environment of every child that names none; absent: our own. */
	env?: Readonly<Record<string, string | undefined>>;
}

export function createProcesses(options: ProcessesOptions = {}): Processes {
	const stop = new AbortController();
	const all = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
	const groups = new Set<number>();
	const running = new Set<Promise<unknown>>();
	const watch = stopwatch();
	const run = async (job: RunOptions): Promise<ProcessRecord> => {
		watch.enter();
		try {
			return await runProcess({
				...(options.env === undefined ? {} : { env: options.env }),
				...job,
				signal: job.signal === undefined ? all : AbortSignal.any([job.signal, all]),
				onStart: (pid) => groups.add(pid),
				onEnd: (pid) => groups.delete(pid),
			});
		} finally {
			watch.leave();
		}
	};
	return {
		run(job) {
			const promise = run(job);
			const settled = promise.then(
				() => {},
				() => {},
			);
			running.add(settled);
			void settled.then(() => running.delete(settled));
			return promise;
		},
		async killAll() {
			stop.abort();
			await Promise.all(running);
		},
		killNow() {
			for (const pid of groups) signalGroup(pid, "SIGKILL");
		},
		childMs: watch.totalMs,
	};
}

/** Adds up the time during which at least one visitor is inside. */
function stopwatch(): { enter(): void; leave(): void; totalMs(): number } {
	let inside = 0;
	let since = 0;
	let total = 0;
	return {
		enter() {
			if (inside === 0) since = performance.now();
			inside += 1;
		},
		leave() {
			inside -= 1;
			if (inside === 0) total += performance.now() - since;
		},
		totalMs: () => total + (inside > 0 ? performance.now() - since : 0),
	};
}

// Runs child processes for one invocation of trtgate: tracks those alive, ends all on Ctrl-C, and adds up their time.
import { type ExecOptions, execCommand } from "./exec.ts";
import { signalGroup } from "./owner.ts";
import { type ProcessOptions, type ProcessRecord, runProcess } from "./spawn.ts";

export interface RunOptions extends Omit<ProcessOptions, "onStart" | "onEnd"> {
	tidying?: boolean;
	/** Runs beside the work, like a watcher, so its time does not count as spent on children. */
	beside?: boolean;
}

export interface ExecRunOptions extends Omit<ExecOptions, "signal"> {
	tidying?: boolean;
}

export interface Processes {
	run(options: RunOptions): Promise<ProcessRecord>;
	/** For a short, trusted command: it ends by itself, and is left alone if the run is cancelled. */
	exec(options: ExecRunOptions): Promise<ProcessRecord>;
	/** Ends all living groups: SIGTERM, then SIGKILL after a grace. New runs come back as aborted. */
	killAll(): Promise<void>;
	/** SIGKILL to all living groups at once; for the last moments of the process. */
	killNow(): void;
	owns(group: number): boolean;
	busy<Value>(work: Promise<Value>): Promise<Value>;
	childMs(): number;
}

export interface ProcessesOptions {
	signal?: AbortSignal;
	/** The environment of every child; a run's own values override it. Absent: a child without its own gets ours. */
	env?: Readonly<Record<string, string | undefined>>;
}

export function createProcesses(options: ProcessesOptions = {}): Processes {
	const stop = new AbortController();
	const all = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
	const groups = new Set<number>();
	const owned = new Set<number>();
	const running = new Set<Promise<unknown>>();
	const watch = stopwatch();
	const run = async ({ tidying, beside, ...job }: RunOptions): Promise<ProcessRecord> => {
		const signals = [...(job.signal === undefined ? [] : [job.signal]), ...(tidying === true ? [] : [all])];
		if (beside !== true) watch.enter();
		try {
			return await runProcess({
				...job,
				...environmentOf(options.env, job.env),
				signal: AbortSignal.any(signals),
				onStart: (pid) => {
					groups.add(pid);
					owned.add(pid);
				},
				onEnd: (pid) => groups.delete(pid),
			});
		} finally {
			if (beside !== true) watch.leave();
		}
	};
	const exec = async ({ tidying, ...job }: ExecRunOptions): Promise<ProcessRecord> => {
		watch.enter();
		const signal = tidying === true ? new AbortController().signal : all;
		return execCommand({ ...job, env: { ...options.env, ...job.env }, signal }).finally(watch.leave);
	};
	return {
		exec,
		run(job) {
			const promise = run(job).finally(() => running.delete(promise));
			running.add(promise);
			return promise;
		},
		async killAll() {
			stop.abort();
			await Promise.allSettled(running);
		},
		killNow() {
			for (const pid of groups) signalGroup(pid, "SIGKILL");
		},
		owns: (group) => owned.has(group),
		busy(work) {
			watch.enter();
			return work.finally(watch.leave);
		},
		childMs: watch.totalMs,
	};
}

/** A run's own variables override the common ones; without either, the child gets our environment. */
function environmentOf(all: ProcessOptions["env"], own: ProcessOptions["env"]): Pick<ProcessOptions, "env"> {
	return all === undefined && own === undefined ? {} : { env: { ...all, ...own } };
}

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

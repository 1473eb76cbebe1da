// Runs the child processes of one invocation, ends them all on Ctrl-C, and adds up their time.
import { type ExecOptions, execCommand } from "./exec.ts";
import { signalGroup } from "./lock-file.ts";
import { type ProcessOptions, runProcess } from "./spawn.ts";

interface RunOptions extends Omit<ProcessOptions, "onStart" | "onEnd"> {
	tidying?: boolean;
	/** Its time does not count, as that of a watcher. */
	beside?: boolean;
}

interface ExecRunOptions extends Omit<ExecOptions, "signal"> {
	tidying?: boolean;
}

export type Processes = ReturnType<typeof createProcesses>;

/** @param env absent: a child without its own gets ours. */
export function createProcesses({ env }: Pick<ProcessOptions, "env"> = {}) {
	const stop = new AbortController();
	const groups = new Set<number>();
	const owned = new Set<number>();
	const running = new Set<Promise<unknown>>();
	const watch = stopwatch();
	const run = async ({ tidying, beside, ...job }: RunOptions) => {
		const signals = [
			...(job.signal === undefined ? [] : [job.signal]),
			...(tidying === true ? [] : [stop.signal]),
		];
		if (beside !== true) watch.enter();
		try {
			return await runProcess({
				...job,
				env: (env ?? job.env) && { ...env, ...job.env },
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
	const exec = async ({ tidying, ...job }: ExecRunOptions) => {
		watch.enter();
		const { signal } = tidying === true ? new AbortController() : stop;
		return execCommand({ ...job, env: { ...env, ...job.env }, signal }).finally(watch.leave);
	};
	return {
		/** For a short, trusted command, which is left alone if the run is cancelled. */
		exec,
		run(job: RunOptions) {
			const promise = run(job).finally(() => running.delete(promise));
			running.add(promise);
			return promise;
		},
		/** SIGTERM, then SIGKILL after a grace. New runs come back as aborted. */
		async killAll() {
			stop.abort();
			await Promise.allSettled(running);
		},
		killNow() {
			for (const pid of groups) signalGroup(pid, "SIGKILL");
		},
		owns: (group: number) => owned.has(group),
		busy<Value>(work: Promise<Value>) {
			watch.enter();
			return work.finally(watch.leave);
		},
		childMs: watch.totalMs,
	};
}

function stopwatch() {
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

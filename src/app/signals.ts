// Ctrl-C and its relatives: the first asks the run to stop and conclude, the second ends it at once.

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** @returns what takes the listeners away again. */
export function stopOnSignals(stop: (reason: string) => void): () => void {
	let asked = false;
	const listeners = signals.map((signal) => {
		const listener = (): void => {
			if (asked) endNow(signal);
			asked = true;
			stop(`interrupted by ${signal}`);
		};
		process.on(signal, listener);
		return () => void process.off(signal, listener);
	});
	return () => {
		for (const letGo of listeners) letGo();
	};
}

/**
 * Ends the process, whatever it waits for. process.exit() alone first waits for every call to the system that is under
 * way, and one that is blocked never ends; so the last of the exit listeners lets the signal do what it does by default.
 */
function endNow(signal: NodeJS.Signals): never {
	process.once("exit", () => {
		process.removeAllListeners(signal);
		process.kill(process.pid, signal);
	});
	process.exit(3);
}

// Termination signals: the first stops the run and lets it conclude, the second ends the process at once.
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** @returns a function that removes the listeners. */
export function stopOnSignals(stop: (reason: string) => void): () => void {
	let isStopping = false;
	const listeners = signals.map((signal) => {
		const listener = (): void => {
			if (isStopping) endNow(signal);
			isStopping = true;
			stop(`interrupted by ${signal}`);
		};
		process.on(signal, listener);
		return () => void process.off(signal, listener);
	});
	return () => {
		for (const remove of listeners) remove();
	};
}

/**
 * Ends the process even where a system call is blocked: process.exit() alone waits for those in progress, and a blocked one
 * never ends. So the last exit listener lets the signal take its default effect.
 */
function endNow(signal: NodeJS.Signals): never {
	process.once("exit", () => {
		process.removeAllListeners(signal);
		process.kill(process.pid, signal);
	});
	process.exit(3);
}

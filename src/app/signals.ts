// The first signal stops the run and lets it conclude; the second ends the process.
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function stopOnSignals(stop: (reason: string) => void): () => void {
	let isStopping = false;
	const listeners = signals.map((signal) => {
		const listener = () => {
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

/** process.exit() may wait for blocked system calls, so the signal takes its default effect. */
function endNow(signal: NodeJS.Signals): never {
	process.once("exit", () => {
		process.removeAllListeners(signal);
		process.kill(process.pid, signal);
	});
	process.exit(3);
}

// Ctrl-C and its relatives: the first asks the run to stop and conclude, the second ends it at once.

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** @returns what takes the listeners away again. */
export function stopOnSignals(stop: (reason: string) => void): () => void {
	let asked = false;
	const listeners = signals.map((signal) => {
		const listener = (): void => {
			if (asked) process.exit(3);
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

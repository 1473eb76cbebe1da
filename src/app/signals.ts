// Ctrl-C and its relatives: the first asks the run to stop and conclude, the second ends it at once.

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function stopOnSignals(stop: (reason: string) => void): void {
	let asked = false;
	for (const signal of signals) {
		process.on(signal, () => {
			if (asked) process.exit(3);
			asked = true;
			stop(`interrupted by ${signal}`);
		});
	}
}

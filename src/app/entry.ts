// Runs before anything else is loaded. An old Node must be able to read it, so it imports nothing.

const oldestNode = 20;

export async function enter(main: () => Promise<number>): Promise<void> {
	if (isReady()) process.exitCode = await main();
}

/** Ends the process even if a request is still open. */
export async function enterAction(firstLine: string, main: () => Promise<number>): Promise<void> {
	const ready = isReady();
	process.stdout.write(firstLine);
	if (!ready) return;
	const exit = await main();
	process.stdout.write("", () => process.exit(exit));
}

function isReady() {
	// Without a listener, Node ends a process at the first failed write.
	for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
	const { node } = process.versions;
	if (Number(node.split(".")[0]) >= oldestNode) return true;
	process.stderr.write(
		`runner: trtgate needs Node ${oldestNode} or later; this is Node ${node} (${process.execPath}). [node-too-old]\n  → Install Node ${oldestNode} or later, and start trtgate with it.\n`,
	);
	process.exitCode = 3;
	return false;
}

// Says which Node is needed where this one is older. Doors import this alone, and all else once it has said no: what an old
// Node cannot read or lacks would otherwise fail before anybody could say why. It uses nothing that is new itself.

const oldest = 20;

/** Whether this Node is too old; then it has been said, and the exit code is that of the runner's faults. */
export function refusesNode(): boolean {
	if (Number(process.versions.node.split(".")[0]) >= oldest) return false;
	process.stderr.write(
		`runner: trtgate needs Node ${oldest} or later, and this is Node ${process.versions.node} (${process.execPath}). [node-too-old]\n  → Install Node ${oldest} or later, and start trtgate with it.\n`,
	);
	process.exitCode = 3;
	return true;
}

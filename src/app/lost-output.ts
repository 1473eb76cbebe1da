// Keeps a stdout or stderr that cannot be written from ending the process. Doors import it before they know their Node: it uses
// nothing that is new itself.

/** Node ends a process at the first write that fails (a full disk, a closed pipe) unless somebody listens. */
export function surviveLostOutput(): void {
	for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}

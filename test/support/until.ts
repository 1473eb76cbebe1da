// Waits for what another process does: a test never guesses how long that takes.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Ends when `happened` holds; the limit of the test ends what never does. */
export async function until(happened: () => boolean): Promise<void> {
	while (!happened()) await sleep(10);
}

/** Whether the process has ended, once it has. */
export async function gone(pid: number): Promise<boolean> {
	await until(() => {
		try {
			return readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
		} catch {
			return true;
		}
	});
	return true;
}

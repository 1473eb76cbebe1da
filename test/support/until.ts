// Waits for what another process does: a test never guesses how long that takes.
import { setTimeout as sleep } from "node:timers/promises";

/** Ends when `happened` holds; the limit of the test ends what never does. */
export async function until(happened: () => boolean): Promise<void> {
	while (!happened()) await sleep(10);
}

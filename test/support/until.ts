import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** What never happens, the limit of the test ends. */
export async function until(happened: () => boolean): Promise<void> {
	while (!happened()) await sleep(10);
}

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

// Creates a thing of which there may be one: where it is unclear whether GitHub did, looks before trying again.
import type { ApiResult } from "../../ports/code-host.ts";

const mostTries = 3;

export async function createOnce<Thing extends object>(
	create: () => Promise<ApiResult<{ thing: Thing }>>,
	find: () => Promise<Thing | null>,
): Promise<ApiResult<{ thing: Thing }>> {
	for (let tries = 1; ; tries += 1) {
		const created = await create();
		if (created.state === "done" || !created.fault.unclear) return created;
		const thing = await find();
		if (thing !== null) return { state: "done", thing };
		if (tries === mostTries) return created;
	}
}

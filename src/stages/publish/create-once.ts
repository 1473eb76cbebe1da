// Creates a thing of which there may be one: where it is unclear whether GitHub did, looks before trying again.
import type { Forged } from "../../ports/forge.ts";

const mostTries = 3;

export async function createOnce<Thing extends object>(
	create: () => Promise<Forged<{ thing: Thing }>>,
	find: () => Promise<Thing | null>,
): Promise<Forged<{ thing: Thing }>> {
	for (let tries = 1; ; tries += 1) {
		const created = await create();
		if (created.state === "done" || !created.fault.unclear) return created;
		const thing = await find();
		if (thing !== null) return { state: "done", thing };
		if (tries === mostTries) return created;
	}
}

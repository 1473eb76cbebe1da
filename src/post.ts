// Entry point of the action's post step.
import { enterAction } from "./app/entry.ts";

await enterAction("", async () => {
	await (await import("./host/app/actions/clean-up.ts")).cleanUp();
	return 0;
});

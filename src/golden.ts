// Entry point of the action in golden/.
import { enterAction } from "./app/entry.ts";

await enterAction("trtgate golden\n", async () =>
	(await import("./host/app/actions/golden-action.ts")).runGoldenAction(),
);

// Entry point of the action.
import { enterAction } from "./app/entry.ts";

await enterAction("trtgate\n", async () => (await import("./host/app/actions/gate-action.ts")).runAction());

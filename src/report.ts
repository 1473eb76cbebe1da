// Entry point of the action in report/.
import { enterAction } from "./app/entry.ts";

await enterAction("trtgate report\n", async () =>
	(await import("./host/app/actions/report-action.ts")).runReportAction(),
);

// Door of the action in report/: merges what the jobs left, and shows it.
import { surviveLostOutput } from "./app/lost-output.ts";
import { refusesNode } from "./app/old-node.ts";

surviveLostOutput();
process.stdout.write("trtgate report\n");
if (!refusesNode()) {
	const { runReportAction } = await import("./app/actions/report-action.ts");
	const exit = await runReportAction();
	// A request that we gave up on would hold the process as long as its server pleases.
	process.stdout.write("", () => process.exit(exit));
}

// Door of the action in plan/: makes the job matrix.
import { surviveLostOutput } from "./app/lost-output.ts";
import { refusesNode } from "./app/old-node.ts";

surviveLostOutput();
if (!refusesNode()) {
	const { runPlanAction } = await import("./app/actions/plan-action.ts");
	process.exitCode = await runPlanAction();
}

// Door of the action in plan/: makes the job matrix.
import { refusesNode } from "./app/old-node.ts";

if (!refusesNode()) {
	const { runPlanAction } = await import("./app/actions/plan-action.ts");
	process.exitCode = await runPlanAction();
}

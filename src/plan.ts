// Door of the action in plan/: makes the job matrix.
import { runPlanAction } from "./app/actions/plan-action.ts";

process.exitCode = await runPlanAction();

// Door of the action in plan/: makes the job matrix.
import { runPlanAction } from "./app/plan-action.ts";

process.exitCode = await runPlanAction();

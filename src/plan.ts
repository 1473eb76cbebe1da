// Entry point of the action in plan/.
import { enter } from "./app/entry.ts";

await enter(async () => (await import("./host/app/actions/plan-action.ts")).runPlanAction());

// Carries a result to where people look: check run, comment, alarm. Best effort: nothing here throws or judges.
import type { Result } from "../core/schema/result.ts";
import type { Forge } from "../ports/forge.ts";
import { publishAlarm } from "./publish/alarm.ts";
import { publishCheckRun } from "./publish/check-run.ts";
import { publishComment } from "./publish/comment.ts";
import type { Published, PublishPlan } from "./publish/plan.ts";

export async function publish(result: Result, plan: PublishPlan, forge: Forge): Promise<Published[]> {
	return [
		...(plan.comment === "never" ? [] : [await publishComment(result, plan, forge)]),
		...(plan.checkRun ? await publishCheckRun(result, plan, forge) : []),
		...(plan.alarm ? [await publishAlarm(result, plan, forge)] : []),
	];
}

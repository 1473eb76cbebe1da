// Carries a result to where people look: check run, comment, alarm. Best effort: nothing here throws or judges.
import type { Result } from "../core/schema/result.ts";
import type { CodeHost } from "../ports/code-host.ts";
import { publishAlarm } from "./publish/alarm.ts";
import { publishCheckRun } from "./publish/check-run.ts";
import { publishComment } from "./publish/comment.ts";
import type { Published, PublishPlan } from "./publish/plan.ts";

export async function publish(result: Result, plan: PublishPlan, codeHost: CodeHost): Promise<Published[]> {
	return [
		...(plan.comment === "never" ? [] : [await publishComment(result, plan, codeHost)]),
		...(plan.checkRun ? await publishCheckRun(result, plan, codeHost) : []),
		...(plan.alarm === null ? [] : [await publishAlarm(result, { ...plan, alarm: plan.alarm }, codeHost)]),
	];
}

import { describe, expect, it } from "vitest";
import { starterWorkflow } from "../../src/core/config/init.ts";
import { pages } from "../support/pages.ts";
import {
	type Job,
	jobsOf,
	readSnippets,
	readWorkflow,
	readWorkflows,
	type Step,
	surfaceOf,
	type Workflow,
} from "../support/workflows.ts";

type Rights = Record<string, "read" | "write">;

function rightsOfAction({ uses = "", with: given = {} }: Step, on: Workflow["on"]): Rights {
	const surface = surfaceOf(uses);
	if (surface === undefined) return {};
	const value = (name: string): string => String(given[name] ?? surface.inputs[name]?.default ?? "");
	const runsOn = (...events: string[]): boolean => events.some((event) => Object.hasOwn(on, event));
	const publishing: Rights = {
		...(value("comment") !== "never" &&
		runsOn("pull_request", "workflow_run", "workflow_call", "issue_comment")
			? { "pull-requests": "write" }
			: {}),
		...(value("check-run") === "true" ? { checks: "write" } : {}),
		...(value("issue") === "true" || (value("issue") === "auto" && runsOn("schedule"))
			? { issues: "write" }
			: {}),
	};
	switch (surface.path) {
		case "plan/action.yml":
			return value("announce") === "true" ? { "pull-requests": "write", checks: "write" } : {};
		case "golden/action.yml":
			return { contents: "write", "pull-requests": "write" };
		case "report/action.yml":
			// With several parts, some may be of an earlier attempt.
			if (given["expected"] !== undefined) return { ...publishing, actions: "read" };
			return { ...publishing, ...(runsOn("workflow_run") ? { actions: "read", contents: "read" } : {}) };
		default:
			// Which commit a comment asks for is compared with the pull request's.
			return { ...(runsOn("issue_comment") ? { "pull-requests": "read" } : {}), ...publishing };
	}
}

function rightsOfCommand(run: string): Rights {
	if (/\bgh release create\b/.test(run)) return { contents: "write" };
	return /\bgh pr create\b/.test(run) ? { contents: "write", "pull-requests": "write" } : {};
}

function rightsOfStep(step: Step, on: Workflow["on"]): Rights {
	if (step.uses?.startsWith("actions/attest@")) return { "id-token": "write", attestations: "write" };
	if (/^github\/codeql-action\/(analyze|upload-sarif)@/.test(step.uses ?? ""))
		return { "security-events": "write" };
	if (step.uses?.startsWith("ossf/scorecard-action@")) return { "id-token": "write" };
	if (step.uses?.startsWith("actions/checkout@")) return { contents: "read" };
	return { ...rightsOfAction(step, on), ...rightsOfCommand(step.run ?? "") };
}

function neededBy({ steps = [] }: Job, on: Workflow["on"]): Rights {
	const needed: Rights = {};
	for (const step of steps)
		for (const [scope, access] of Object.entries(rightsOfStep(step, on)))
			if (needed[scope] !== "write") needed[scope] = access;
	return needed;
}

const workflows = [
	...["workflows-examples", ".github/workflows"].flatMap(readWorkflows),
	...pages.flatMap(readSnippets),
	readWorkflow("trtgate init", starterWorkflow({ commit: "0".repeat(40) })),
];

describe.each(workflows.filter((workflow) => jobsOf(workflow).some(([, job]) => job.uses === undefined)))(
	"$path",
	(workflow) => {
		it.each(jobsOf(workflow).filter(([, job]) => job.uses === undefined))(
			"an example workflow gives %s the rights that its steps use",
			(_, job) => {
				expect(job.permissions ?? workflow.permissions).toEqual(neededBy(job, workflow.on));
			},
		);
	},
);

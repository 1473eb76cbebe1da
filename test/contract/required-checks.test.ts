import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { starterWorkflow } from "../../src/core/config/init.ts";
import {
	evaluate,
	evaluateExpression,
	type Job,
	jobsOf,
	readWorkflow,
	readWorkflows,
	stepsOf,
	type Workflow,
} from "../support/workflows.ts";

const starter = readWorkflow("trtgate.yml", starterWorkflow({ commit: "0".repeat(40) }));
const examples = [...readWorkflows("workflows-examples"), starter];
const ofPulls = examples.filter(({ on }) => Object.hasOwn(on, "pull_request"));
const called = readWorkflow("gate.yml", readFileSync(".github/workflows/gate.yml", "utf8"));

interface GitHubEvent {
	github: object;
}

function pull(
	action: string,
	{ from = "acme/engines", changes = {} }: { from?: string; changes?: object } = {},
): GitHubEvent {
	const event = { action, changes, pull_request: { head: { repo: { full_name: from } } } };
	const ref = "acme/engines/.github/workflows/x.yml@refs/pull/7/merge";
	return { github: { event_name: "pull_request", repository: "acme/engines", workflow_ref: ref, event } };
}

const events = {
	push: pull("synchronize"),
	title: pull("edited", { changes: { title: { from: "Old" } } }),
	retarget: pull("edited", { changes: { base: { ref: { from: "slow" } } } }),
	fork: pull("synchronize", { from: "stranger/engines" }),
	queue: {
		github: { event_name: "merge_group", repository: "acme/engines", event: { action: "checks_requested" } },
	},
} as const satisfies Record<string, GitHubEvent>;

interface Check {
	name: string;
	runs: boolean;
}

const needsOf = ({ needs = [] }: Job): string[] => [needs].flat();

/** The checks of a run whose jobs succeed; those of a matrix have a name each, which nobody requires. */
function checksOf(workflow: Workflow, event: GitHubEvent): Check[] {
	const results: Record<string, { result: string; outputs: object }> = {};
	return jobsOf(workflow).flatMap(([id, job]) => {
		const condition = (job.if ?? "true").replace(/^\$\{\{|\}\}$/g, "");
		const hasOwnStatus = /\b(cancelled|failure|always)\(\)/.test(condition);
		const isReady = hasOwnStatus || needsOf(job).every((need) => results[need]?.result === "success");
		const runs = isReady && Boolean(evaluateExpression(condition, { ...event, needs: results }));
		results[id] = { result: runs ? "success" : "skipped", outputs: {} };
		if (job.strategy !== undefined || id === "lost") return [];
		const name = String(evaluate(job.name ?? id, event));
		// A call that is skipped has one check; one that runs has those of the called jobs.
		if (job.uses === undefined || !runs) return [{ name, runs }];
		return checksOf(called, event).map((inner) => ({ ...inner, name: `${name} / ${inner.name}` }));
	});
}

function requiredByDocs(): Map<string, string[]> {
	const [, table = ""] = readFileSync("docs/start.md", "utf8").split("## Required checks");
	const rows = [...table.matchAll(/^\| ([\w-]+\.yml)[^|]*\| (.*) \|$/gm)];
	return new Map(
		rows.map(([, file = "", cell = ""]) => [
			file,
			[...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""),
		]),
	);
}

const fileOf = ({ path }: Workflow): string => path.split("/").at(-1) ?? "";
const namesOf = (checks: readonly Check[], runs: boolean): string[] =>
	checks.filter((check) => check.runs === runs).map(({ name }) => name);

it("the table of required checks lists every workflow for pull requests, with each of its jobs but those that measure a part", () => {
	const wanted = ofPulls.map(
		(workflow) => [fileOf(workflow), checksOf(workflow, events.push).map(({ name }) => name)] as const,
	);
	expect(Object.fromEntries(requiredByDocs())).toEqual(Object.fromEntries(wanted));
});

describe.each(ofPulls.map((workflow) => [fileOf(workflow), workflow] as const))("%s", (file, workflow) => {
	const required = requiredByDocs().get(file) ?? [];
	const isOfForks = file === "fork-measure.yml";

	it(`${file} runs its required checks for a push to a pull request and for another target branch`, () => {
		for (const event of [events.push, events.retarget]) {
			const fork = { github: { ...event.github, repository: "acme/upstream" } };
			expect(namesOf(checksOf(workflow, isOfForks ? fork : event), true)).toEqual(required);
		}
	});

	it(`${file} runs its required checks in the merge queue, where a skipped one would let everything pass`, () => {
		expect(workflow.on).toHaveProperty("merge_group");
		// The gate that it is required together with measures there.
		expect(namesOf(checksOf(workflow, events.queue), !isOfForks)).toEqual(required);
	});

	it(`${file} runs nothing for an edited title, skips no required check, and cancels no run that measures`, () => {
		const checks = checksOf(workflow, events.title);
		expect(namesOf(checks, true)).toEqual([]);
		for (const name of required) expect(namesOf(checks, false)).not.toContain(name);
		const groupOf = (event: GitHubEvent): unknown => evaluate(workflow.concurrency?.group ?? "", event);
		expect(groupOf(events.retarget)).toBe(groupOf(events.push));
		expect(groupOf(events.title)).not.toBe(groupOf(events.push));
	});
});

it("the workflows that measure forks' pull requests are those that docs/start.md and docs/security.md name for them", () => {
	const measuring = ofPulls.filter((workflow) => checksOf(workflow, events.fork).some(({ runs }) => runs));
	expect(measuring.map(fileOf).sort()).toEqual(["cpu-smoke.yml", "fork-measure.yml", "trtgate.yml"]);
});

it("no workflow publishes after it was cancelled", () => {
	for (const { path, text } of [...examples, called]) expect(text, path).not.toContain("always()");
	for (const workflow of [...examples, called])
		for (const [name, job] of jobsOf(workflow))
			if (needsOf(job).length > 1) expect(job.if, `${name} of ${workflow.path}`).toContain("!cancelled()");
});

it("the workflows' concurrency groups differ from those of a copy, and those of the reusable workflow from those of another config", () => {
	for (const { path, concurrency } of examples)
		expect(concurrency?.group, path).toMatch(/^\$\{\{ github\.workflow(_ref)? \}\}/);
	expect(called.concurrency?.group).toMatch(/\$\{\{ inputs\.config \}\}-\$\{\{ inputs\.name \}\}$/);
});

it("the job `lost` looks for the result of its own gate: the same config, name and artifact, and the id of that job", () => {
	const withLost = examples.filter(({ jobs }) => jobs["lost"] !== undefined);
	expect(withLost.map(fileOf).sort()).toEqual([
		"container.yml",
		"jetson.yml",
		"nightly.yml",
		"pull-request.yml",
		"trtgate.yml",
	]);
	for (const workflow of withLost) {
		const { lost, gate } = workflow.jobs;
		const [report] = lost?.steps ?? [];
		const measure = stepsOf({ ...workflow, jobs: { gate: gate ?? {} } }).find(({ id }) => id === "gate");
		expect(report?.with?.["job"] ?? "gate", workflow.path).toBe(lost?.needs);
		for (const input of ["config", "name", "artifact"])
			expect(report?.with?.[input], `${input} in ${workflow.path}`).toBe(measure?.with?.[input]);
		expect(report?.with?.["config"]).toBe("trtgate.yml");
	}
});

it("the workflows call no condition a barrier", () => {
	for (const { path, text } of examples)
		for (const [line] of text.matchAll(/^ *#.*forks?\b.*$/gim))
			expect(line, path).not.toMatch(/never reach|cannot reach|keeps? forks off/i);
});

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Result } from "../../generated/result.ts";
import { formatMatrix, type MatrixJob } from "../../src/core/plan/matrix.ts";
import { parseResult } from "../../src/core/report/parse-result.ts";
import { type ActionRun, runActionFolder } from "../support/action-runner.ts";
import { buildGate, buildResult, buildSlowWorkload } from "../support/build-result.ts";
import { pullJob, workflowRun } from "../support/event-payloads.ts";
import { type LocalGitHub, startLocalGitHub } from "../support/local-github/start.ts";
import { expectExit, temporaryFolder, writeProject } from "../support/project.ts";
import { makeRepository, workspaceOf } from "../support/pull-repository.ts";
import { zipOf } from "../support/zip-writer.ts";

const head = "d4e5f6a1b2c30718293a4b5c6d7e8f9012345678";
const base = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678";
const model = "version: 1\nmodels:\n  net: { onnx: net.onnx }\n";

interface Place {
	github: LocalGitHub;
	workspace: string;
	temp: string;
}

async function openPlace(): Promise<Place> {
	const github = await startLocalGitHub();
	onTestFinished(() => github.close());
	return { github, workspace: temporaryFolder(), temp: temporaryFolder() };
}

/** @param summary in place of the runner's file, in a process of its own. */
async function planPush(config: string, summary?: string): Promise<ActionRun> {
	const { github, workspace, temp } = await openPlace();
	writeProject(workspace, { "trtgate.yml": `${model}${config}` });
	const job = { event: "push", ref: "refs/heads/main", sha: head, payload: {} } as const;
	const env = await github.environment({ ...job, workspace, temp });
	const own = summary === undefined ? {} : { timeoutMs: 60_000 };
	return runActionFolder("plan", {
		env: { ...env, ...(summary !== undefined && { GITHUB_STEP_SUMMARY: summary }) },
		cwd: workspace,
		...own,
	});
}

function jobs(names: readonly string[]): string {
	return formatMatrix(
		names.map(
			(name): MatrixJob => ({ name, runner: '["x"]', only: "", device: "", artifact: `trtgate-${name}` }),
		),
	);
}

function resultOf(gpu: string, overrides: Partial<Result> = {}): Result {
	return buildResult({
		environment: { gpu },
		backend: { ...buildResult().backend, device: `NVIDIA ${gpu}` },
		...overrides,
	});
}

const failing = (gpu: string): Result =>
	resultOf(gpu, { outcome: "fail", gates: [buildGate({ status: "fail" })] });

const addResult = ({ github }: Place, name: string, result: Result, runId = 500) =>
	github.addArtifact({ runId, name: `trtgate-${name}`, archive: archiveOf(result) });

function archiveOf(result: Result): Buffer {
	return zipOf([
		{ name: "logs/build.log", content: "x" },
		{ name: "result.json", content: JSON.stringify(result) },
	]);
}

async function reportSameRun(
	{ github, workspace, temp }: Place,
	inputs: Record<string, string>,
	job: object = {},
): Promise<ActionRun> {
	const pull = pullJob({ head, base, merge: "c".repeat(40) });
	const env = await github.environment({ ...pull, workspace, temp, runId: 500, ...job });
	return runActionFolder("report", { inputs, env, cwd: workspace });
}

interface Cause {
	/** Repository of the head. */
	from?: string;
	event?: string;
}

async function reportAfter(
	place: Place,
	inputs: Record<string, string>,
	cause: Cause = {},
): Promise<ActionRun> {
	const { github, workspace, temp } = place;
	const { event = "pull_request", from = "stranger/engines" } = cause;
	const run = { id: 500, run_attempt: 1, head_branch: "change", event, pull_requests: [] };
	const env = await github.environment({
		...{
			event: "workflow_run",
			ref: "refs/heads/main",
			sha: base,
			workspace,
			temp,
			runId: 600,
			isFork: true,
		},
		payload: workflowRun(head, { ...run, head_repository: { full_name: from } }),
		permissions: { actions: "read", "pull-requests": "write", checks: "write", contents: "read" },
	});
	return runActionFolder("report", { inputs, env, cwd: workspace });
}

async function merged({ workspace }: Place): Promise<Result> {
	return parseResult(await readFile(join(workspace, "trtgate-merged", "result.json"), "utf8"), "result.json");
}

const pull = { number: 7, headSha: head, headRef: "change", baseRef: "main", baseSha: base };

/** With a fork's pull request. */
async function openFork(headSha = head): Promise<Place> {
	const place = await openPlace();
	place.github.addPull({ ...pull, headSha, headRepository: "stranger/engines" });
	return place;
}

const forbidden = { status: 403, body: { message: "Resource not accessible by integration" } };
const rights = { permissions: { "pull-requests": "write", checks: "write" } };
const isLost = { exitCode: 3, outputs: { outcome: "error", "failure-kind": "runner" } };
const passed = { exitCode: 0, outputs: { outcome: "pass" } };

it("plan/ makes a matrix of trtgate.yml", async () => {
	const run = await planPush(
		"runners:\n  - { name: l4, labels: gpu-l4 }\n  - { name: orin, labels: [self-hosted, jetson], engines: [net] }\n",
	);
	expect(run).toMatchObject({ exitCode: 0, outputs: { count: "2" } });
	expect(JSON.parse(run.outputs["matrix"] ?? "")).toEqual({
		include: [
			{ name: "l4", artifact: "trtgate-l4", runner: '["gpu-l4"]', only: "", device: "" },
			{ name: "orin", artifact: "trtgate-orin", runner: '["self-hosted","jetson"]', only: "net", device: "" },
		],
	});
	expect(run.summary).toContain("Plan: 2 jobs");
	expect(await planPush("", "/dev/full")).toMatchObject({
		exitCode: 0,
		outputs: { count: "1" },
	});
});

it("plan/ shows that the jobs measure where it announces them, and report/ concludes that", async () => {
	const place = await openPlace();
	const { github, temp } = place;
	const config = { "trtgate.yml": model };
	const pull = makeRepository({ base: config, head: config });
	github.addComment({
		issue: 7,
		body: `<!-- trtgate:trtgate.yml run:1 attempt:1 sha:${pull.base} -->\nEarlier.\n`,
		author: "github-actions[bot]",
	});
	const job = { ...pullJob(pull), workspace: workspaceOf(pull), temp, runId: 500 };
	const env = await github.environment(job);
	const plan = await runActionFolder("plan", { inputs: { announce: "true" }, env, cwd: job.workspace });
	expectExit(plan, 0);
	expect(github.state.checkRuns).toMatchObject([
		{ headSha: pull.head, status: "in_progress", title: "waiting for 1 job" },
	]);
	expect(github.state.comments.map(({ body }) => body)).toEqual([
		expect.stringContaining(`[${pull.head.slice(0, 7)} is being measured]`),
	]);
	const arms = { base: { label: "main", commit: pull.base }, head: { label: "#7", commit: pull.merge } };
	addResult(place, "all", resultOf("l4", { arms }));
	const { matrix = "", review = "" } = plan.outputs;
	await reportSameRun(place, { expected: matrix, review }, pullJob(pull));
	expect(github.state.checkRuns).toMatchObject([{ status: "completed", conclusion: "success" }]);
	expect(github.state.comments.map(({ body }) => body)).toEqual([
		expect.not.stringMatching(/Earlier|being measured/),
	]);
	expect(github.state.violations).toEqual([]);
});

const config = (labels: string) => `${model}runners: [{ name: l4, labels: ${labels} }]\n`;

async function planPull(base: string | null, head: string): Promise<ActionRun> {
	const { github, temp } = await openPlace();
	const pull = makeRepository({
		base: base === null ? {} : { "trtgate.yml": base },
		head: { "trtgate.yml": head },
	});
	const workspace = workspaceOf(pull);
	const env = await github.environment({ ...pullJob(pull), workspace, temp });
	return runActionFolder("plan", { env, cwd: workspace });
}

it("plan/ keeps to the machines of the base, and lists the change for a review", async () => {
	const run = await planPull(config("gpu-l4"), config("gpu-release"));
	expectExit(run, 0);
	expect(JSON.parse(run.outputs["matrix"] ?? "")).toMatchObject({
		include: [{ name: "l4", runner: '["gpu-l4"]' }],
	});
	expect(JSON.parse(run.outputs["review"] ?? "")).toEqual([
		expect.objectContaining({
			...{ gate: "limit-change", status: "warn", model: "trtgate.yml" },
			message: expect.stringContaining("runners.l4.labels: gpu-l4 → gpu-release."),
		}),
	]);
	expect(run.stdout).toContain("runners.l4.labels: gpu-l4 → gpu-release.");
});

it("plan/ refuses it if the base has no config", async () => {
	const run = await planPull(null, config("gpu-release"));
	expect(run).toMatchObject({ exitCode: 2, outputs: {} });
	expect(run.annotations[0]?.message).toMatch(
		/runner l4 has the labels \["gpu-release"\].*Merge the new runner first/s,
	);
});

it("plan/ annotates the line of a fault in the config", async () => {
	const run = await planPush("runners: [{ nmae: l4, labels: x }]\n");
	expect(run.exitCode).toBe(2);
	expect(run.annotations.find(({ message }) => message.includes("nmae"))).toMatchObject({
		...{ level: "error", file: "trtgate.yml", line: 4 },
		message: expect.stringContaining("Did you mean name?"),
	});
});

it("report/ in the run that measured merges what came, names what is missing, comments, checks, keeps the report, and fails the job", async () => {
	const place = await openPlace();
	addResult(
		place,
		"l4",
		resultOf("l4", {
			workloads: [buildSlowWorkload()],
			outcome: "fail",
			gates: [buildGate({ model: "classifier", workload: "batch 8", status: "fail" })],
		}),
	);
	addResult(place, "h200", resultOf("h200"));
	const run = await reportSameRun(place, { expected: jobs(["l4", "h200", "orin"]) });
	expect(run.outputs).toMatchObject({ outcome: "fail" });
	expect(run.exitCode).toBe(1);
	expect((await merged(place)).parts?.map(({ name, state }) => `${name} ${state}`)).toEqual([
		"h200 merged",
		"l4 merged",
		"orin missing",
	]);
	const { comments, checkRuns, artifacts, violations } = place.github.state;
	expect(comments).toHaveLength(1);
	expect(comments[0]?.body).toContain("classifier · fp16 · batch 8 (l4) is 4.2 % slower");
	expect(comments[0]?.body).toContain("orin");
	expect(checkRuns[0]).toMatchObject({ headSha: head, conclusion: "failure" });
	expect(artifacts.map(({ name }) => name)).toEqual(
		expect.arrayContaining(["merged-gate", "report-gate.html"]),
	);
	expect(run.summary).toContain("Parts: 2 of 3 merged, 1 missing");
	expect(violations).toEqual([]);
});

it("report/ in the run that measured updates its comment in the next run, and finds the parts again beside its own report", async () => {
	const place = await openPlace();
	addResult(place, "gate", resultOf("l4"));
	expect((await reportSameRun(place, {})).exitCode).toBe(0);
	const again = await reportSameRun(place, { name: "" });
	expect(again).toMatchObject(passed);
	expect(place.github.state.comments).toHaveLength(1);
});

it("report/ in the run that measured reports that no part arrived", async () => {
	const place = await openPlace();
	const run = await reportSameRun(place, {});
	expect(run).toMatchObject(isLost);
	expect(run.annotations[0]?.message).toContain("It has no artifact trtgate-gate with a result.json");
});

function addPart(place: Place, gpu: string, attempt = 1): void {
	const run = { id: 500, attempt, job: "measure", part: gpu, runner: `runner-${gpu}-${attempt}` };
	addResult(place, attempt === 1 ? gpu : `${gpu}-attempt${attempt}`, resultOf(gpu, { run }));
	addJob(place, gpu, { attempt, from: -60 });
}

function addJob({ github }: Place, gpu: string, { attempt, from }: { attempt: number; from: number }): void {
	const startedAt = `${new Date(Date.now() + 1000 * from).toISOString().slice(0, 19)}Z`;
	const runner = `runner-${gpu}-${attempt}`;
	github.state.jobs.push({
		...{ id: 7000 + github.state.jobs.length, runId: 500, attempt, name: `measure (${gpu})` },
		...{ runner, startedAt, completedAt: null },
	});
}

it("report/ in a second attempt shows no result of the first for jobs that were run again and lost", async () => {
	const place = await openPlace();
	for (const gpu of ["l4", "h200"]) addPart(place, gpu);
	const expected = jobs(["l4", "h200"]);
	expect(await reportSameRun(place, { expected })).toMatchObject(passed);
	for (const gpu of ["l4", "h200"]) addJob(place, gpu, { attempt: 2, from: 10 });
	expect(await reportSameRun(place, { expected }, { runAttempt: 2 })).toMatchObject(isLost);
	const result = await merged(place);
	expect(result.run).toMatchObject({ id: 500, attempt: 2 });
	expect(result.parts).toMatchObject([
		{ state: "missing", reason: expect.stringContaining("run again in attempt 2") },
		{ state: "missing" },
	]);
	const { comments, checkRuns, violations } = place.github.state;
	expect(comments.map(({ body }) => body)).toEqual([
		expect.stringMatching(/run:500 attempt:2 [^\n]*\n## 🛑[\s\S]*<sub>head d4e5f6a, not measured · /),
	]);
	expect(checkRuns.at(-1)).toMatchObject({
		externalId: expect.stringMatching(/\/500\/2$/),
		conclusion: "failure",
	});
	expect(violations).toEqual([]);
});

it("report/ in a second attempt uses the result of a job that was not run again, and names its attempt", async () => {
	const place = await openPlace();
	addPart(place, "h200");
	addJob(place, "l4", { attempt: 1, from: -60 });
	addPart(place, "l4", 2);
	const run = await reportSameRun(place, { expected: jobs(["l4", "h200"]) }, { runAttempt: 2 });
	expect(run, run.stdout).toMatchObject(passed);
	expect((await merged(place)).parts).toMatchObject([
		{ name: "h200", state: "merged", attempt: 1 },
		{ name: "l4", state: "merged", artifact: "trtgate-l4-attempt2" },
	]);
	for (const text of [place.github.state.comments[0]?.body, run.summary])
		expect(text).toContain("from attempt 1");
	expect(place.github.state.violations).toEqual([]);
});

it("report/ in a second attempt uses no result of the first without the right to read the list of jobs, and names that right", async () => {
	const place = await openPlace();
	addPart(place, "l4");
	const run = await reportSameRun(place, { expected: jobs(["l4"]) }, { ...rights, runAttempt: 2 });
	expect(run).toMatchObject({ exitCode: 3, outputs: { outcome: "error" } });
	expect((await merged(place)).parts).toMatchObject([
		{
			state: "missing",
			reason: expect.stringMatching(/from attempt 1, and it is unknown .*actions: read/),
		},
	]);
});

it("report/ without a plan does not use the result of an earlier attempt in place of a lost one", async () => {
	const place = await openPlace();
	const run = { id: 500, attempt: 1, job: "gate", runner: "gpu-1" };
	addResult(place, "gate", resultOf("l4", { run }));
	const lost = await reportSameRun(place, {}, { ...rights, runAttempt: 2, job: "lost" });
	expect(lost).toMatchObject(isLost);
	expect(place.github.state.comments.map(({ body }) => body)).toEqual([
		expect.stringMatching(
			/attempt:2 [^\n]*\n## 🛑[\s\S]*The run left no result\. Its last result is from attempt 1/,
		),
	]);
	expect(place.github.state.checkRuns.at(-1)).toMatchObject({ conclusion: "failure" });
});

it("report/ without a plan uses only the artifact of its own config, name and job", async () => {
	const place = await openPlace();
	const other = resultOf("l4", { config: { path: "b/trtgate.yml" } });
	addResult(place, "b-trtgate-gate-b", other);
	const lost = await reportSameRun(
		place,
		{ config: "a/trtgate.yml", job: "gate-a" },
		{ ...rights, job: "lost" },
	);
	expect(lost).toMatchObject({ exitCode: 3, outputs: { outcome: "error" } });
	expect(lost.annotations[0]?.message).toContain("no artifact trtgate-a-trtgate-gate-a with");
	expect(place.github.state.comments.map(({ body }) => body)).toEqual([
		expect.stringMatching(/## 🛑 TensorRT gate · a\/trtgate/),
	]);
	const found = await reportSameRun(place, { config: "./b/trtgate.yml", job: "gate-b", name: "" }, rights);
	expect(found).toMatchObject(passed);
});

it.each([
	["has a name that makes the same artifact", { name: "中国" }, { job: "gate", part: "日本" }],
	["has no name, and another job's name is its id", {}, { job: "other", part: "gate" }],
])(
	"report/ without a plan does not take another gate's result for a lost one's, which %s",
	async (_, inputs, its) => {
		const place = await openPlace();
		const artifact = place.github.addArtifact.bind(place.github);
		const result = resultOf("l4", { run: { id: 500, attempt: 1, ...its } });
		artifact({ runId: 500, name: "name" in inputs ? "trtgate" : "trtgate-gate", archive: archiveOf(result) });
		expect(await reportSameRun(place, inputs, { ...rights, job: "lost" })).toMatchObject(isLost);
		const found = await reportSameRun(place, { name: its.part }, rights);
		expect(found).toMatchObject(passed);
	},
);

it("report/ without a plan refuses a result of another config under the artifact's name", async () => {
	const place = await openPlace();
	addResult(place, "gate", resultOf("l4", { config: { path: "b/trtgate.yml" } }));
	const run = await reportSameRun(place, {}, rights);
	expect(run).toMatchObject({
		exitCode: 2,
		outputs: { outcome: "error", "failure-kind": "configuration" },
	});
	expect((await merged(place)).parts).toMatchObject([
		{ state: "refused", reason: expect.stringContaining("of the config b/trtgate.yml") },
	]);
});

const night = { event: "schedule", ref: "refs/heads/main", sha: head, payload: { schedule: "17 2 * * *" } };

it("report/ at night opens one issue for the whole matrix, keeps it up to date, and closes it when all is well", async () => {
	const place = await openPlace();
	const { state } = place.github;
	for (const [runId, result, exit, issue] of [
		[500, failing("L4"), 1, "open"],
		[501, resultOf("L4"), 0, "closed"],
	] as const) {
		addResult(place, "l4", result, runId);
		expectExit(await reportSameRun(place, { expected: jobs(["l4"]) }, { ...night, runId }), exit);
		expect(state.issues.map(({ state: is }) => is)).toEqual([issue]);
		expect(state.issues[0]?.body).toContain("run:500 ");
	}
	expect(state.comments).toMatchObject([{ body: expect.stringContaining("Recovered: ") }]);
});

it("report/ at night opens none if the input disables it", async () => {
	const place = await openPlace();
	addResult(place, "gate", failing("L4"));
	expect((await reportSameRun(place, { issue: "false" }, night)).exitCode).toBe(1);
	expect(place.github.state.issues).toEqual([]);
});

it("report/ after a fork's run finds run, commit and pull request through GitHub, comments there, and stays green itself", async () => {
	const place = await openFork();
	addResult(place, "l4", failing("l4"));
	const run = await reportAfter(place, { expected: jobs(["l4"]) });
	expect(run).toMatchObject({ exitCode: 0, outputs: { outcome: "fail" } });
	expect(place.github.state.comments).toMatchObject([{ issue: 7 }]);
	expect(place.github.state.checkRuns).toMatchObject([{ headSha: head, conclusion: "failure" }]);
	expect(place.github.state.violations).toEqual([]);
	expect((await reportAfter(place, { expected: jobs(["l4"]), fail: "true" })).exitCode).toBe(1);
});

it("report/ after a fork's run says first that nobody verified its figures, and is nowhere green", async () => {
	const place = await openFork();
	addResult(place, "gate", resultOf("l4"));
	const run = await reportAfter(place, {});
	expect(run).toMatchObject(passed);
	const [comment] = place.github.state.comments;
	expect(comment?.body).toMatch(/^<!-- [^\n]* -->\n\*\*Reported by the fork's own job; not verified\*\*\n/);
	expect(run.summary).toMatch(/^\*\*Reported by the fork's own job; not verified\*\*\n/);
	const [checkRun] = place.github.state.checkRuns;
	expect(checkRun).toMatchObject({
		conclusion: "neutral",
		title: expect.stringMatching(/^Reported by the fork's own job; not verified: passed/),
	});
	expect(checkRun?.summary).toMatch(/^\*\*Reported by the fork's own job/);
	for (const text of [comment?.body, checkRun?.summary, run.summary]) expect(text).not.toContain("✅");
	expect(await readFile(join(place.workspace, "trtgate-merged", "report.html"), "utf8")).toContain(
		"Reported by the fork&#39;s own job",
	);
});

it("report/ after a fork's run that left no result says so on the pull request, and fails only if the input asks for it", async () => {
	const place = await openFork();
	expect(await reportAfter(place, {})).toMatchObject({ ...isLost, exitCode: 0 });
	expect(place.github.state.comments).toMatchObject([
		{ body: expect.stringContaining("The run left no result") },
	]);
	expect(await reportAfter(place, { fail: "true" })).toMatchObject(isLost);
});

it("report/ after a fork's run sets no green status if it may not create a check run", async () => {
	const place = await openFork();
	addResult(place, "gate", resultOf("l4"));
	place.github.inject({ method: "POST", path: /check-runs$/, ...forbidden });
	expect((await reportAfter(place, {})).exitCode).toBe(0);
});

it("report/ after a fork's run does not label the run of a branch of the own repository", async () => {
	const place = await openPlace();
	place.github.addPull(pull);
	addResult(place, "gate", resultOf("l4"));
	await reportAfter(place, {}, { from: "acme/engines" });
	expect(place.github.state.comments[0]?.body).toMatch(/-->\n## ✅/);
	expect(place.github.state.checkRuns).toMatchObject([{ conclusion: "success" }]);
});

it("report/ after a fork's run does not comment on a pull request that has moved on", async () => {
	const place = await openFork("e".repeat(40));
	addResult(place, "gate", resultOf("l4"));
	const run = await reportAfter(place, {});
	expect(place.github.state.comments).toEqual([]);
	expect(run.annotations.map(({ message }) => message).join()).toContain(
		"pull request 7 has moved on to eeeeeee; this run measured d4e5f6a",
	);
});

it.each([
	["no pull request", { from: "someone/else" }, "no open pull request has this branch"],
	["another event", { event: "push" }, "the run was for push"],
] as const)("report/ after a fork's run does not comment for %s", async (_, cause, why) => {
	const place = await openFork();
	addResult(place, "gate", resultOf("l4"));
	const run = await reportAfter(place, {}, cause);
	expect(place.github.state.comments).toEqual([]);
	expect(run.annotations.map(({ message }) => message).join()).toContain(why);
});

it("report/ after a fork's run shows each part that is none as refused", async () => {
	const place = await openFork();
	const holding = (content: string | Buffer, more: { name?: string; mode?: number } = {}) =>
		zipOf([{ name: "result.json", content, ...more }]);
	const measuredOther = (commit: { commit?: string }) =>
		archiveOf(resultOf("l4", { arms: { base: null, head: { label: "head", ...commit } } }));
	const refused: Record<string, [Buffer, RegExp]> = {
		"another-commit": [
			measuredOther({ commit: "f".repeat(40) }),
			/says that it measured commit fffffff; expected d4e5f6a\.$/,
		],
		bomb: [holding(Buffer.alloc(70 * 1024 * 1024, 0x20)), /at most 67108864 are read/],
		link: [holding("/etc/passwd", { mode: 0o120777 }), /symbolic link/],
		"no-archive": [Buffer.from("nonsense"), /not a ZIP archive/],
		"no-commit": [measuredOther({}), /names no commit that it measured/],
		"no-json": [holding("<script>alert(1)</script>"), /not JSON/],
		"no-result": [holding("{}", { name: "../result.json" }), /contains no result\.json/],
		"wrong-schema": [holding('{"schemaVersion":1,"__proto__":{"outcome":"pass"}}'), /not a result/],
	};
	for (const [name, [archive]] of Object.entries(refused))
		place.github.addArtifact({ runId: 500, name: `trtgate-${name}`, archive });
	addResult(place, "h200", resultOf("h200"));
	const run = await reportAfter(place, { expected: jobs([...Object.keys(refused), "h200"]) });
	expect(run).toMatchObject({ exitCode: 0, outputs: { outcome: "error" } });
	const parts = new Map((await merged(place)).parts?.map((part) => [part.name, part]));
	expect(parts.get("h200")).toMatchObject({ state: "merged" });
	for (const [name, [, reason]] of Object.entries(refused))
		expect(parts.get(name)).toMatchObject({ state: "refused", reason: expect.stringMatching(reason) });
	expect(place.github.state.comments[0]?.body).not.toContain("<script");
});

it("report/ after a fork's run reports what permission it lacks to find out about the run", async () => {
	const place = await openPlace();
	place.github.inject({ method: "GET", path: /actions\/runs\/500$/, ...forbidden });
	const run = await reportAfter(place, {});
	expect(run).toMatchObject(isLost);
	expect(run.annotations[0]?.message).toContain("actions: read");
});

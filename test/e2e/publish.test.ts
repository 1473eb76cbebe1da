// The action against a local GitHub: what it shows, links, keeps, and what it does when GitHub refuses.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ActionRun, runActionFolder } from "../support/action-runner.ts";
import { git } from "../support/git-history.ts";
import { type Job, type LocalGitHub, startLocalGitHub } from "../support/local-github/start.ts";
import { quickProject, readResult, temporaryFolder, untimed, writeProject } from "../support/project.ts";
import { comparisonConfig, comparisonFiles, installReplay } from "../support/replay/install.ts";

const sha = "a".repeat(40);
const pull = {
	head: { ref: "change", sha, repo: { id: 1, full_name: "acme/engines" } },
	base: { ref: "main", sha: "b".repeat(40), repo: { id: 1, full_name: "acme/engines" } },
};
const pullRequest: Pick<Job, "event" | "ref" | "sha" | "payload"> = {
	event: "pull_request",
	ref: "refs/pull/7/merge",
	sha,
	payload: { number: 7, pull_request: { number: 7, ...pull } },
};

/** A model whose output is not that of its golden. */
const wrong = { "model.onnx": "fixture:wrong.onnx" };

/** Nothing is timed: these tests are about what is published. */
const config = untimed();

/** A change on top of a base that has no model yet. */
function project(folder: string, files: Record<string, string> = {}): string {
	if (!existsSync(join(folder, ".git"))) {
		git(folder, "init", "-q");
		git(folder, "commit", "-q", "--allow-empty", "-m", "Begin");
		git(folder, "checkout", "-q", "-b", "change");
	}
	quickProject(folder, { "trtgate.yml": config, ...files });
	git(folder, "add", "-A");
	git(folder, "commit", "-q", "-m", "Add a model");
	return folder;
}

/** The same job, whose pull request goes to the first commit. */
function onBase<Asked extends Partial<Job>>(job: Asked, workspace: string): Asked {
	const { payload } = job;
	if (typeof payload !== "object" || payload === null || !("pull_request" in payload)) return job;
	const base = { ...pull.base, sha: git(workspace, "rev-list", "--max-parents=0", "HEAD") };
	return { ...job, payload: { ...payload, pull_request: { ...(payload.pull_request as object), base } } };
}

interface Scene {
	github: LocalGitHub;
	workspace: string;
	run(job?: Partial<Job>, inputs?: Record<string, string>): Promise<ActionRun>;
}

async function scene(files: Record<string, string> = {}): Promise<Scene> {
	const github = await startLocalGitHub();
	onTestFinished(() => github.close());
	const workspace = project(temporaryFolder(), files);
	const temp = temporaryFolder();
	return {
		github,
		workspace,
		async run(job = {}, inputs = {}) {
			const env = await github.environment({
				workspace,
				temp,
				...onBase({ ...pullRequest, ...job }, workspace),
			});
			return runActionFolder(".", { env, cwd: workspace, inputs, post: true });
		},
	};
}

describe("the action on a pull request", () => {
	it("the action on a pull request keeps one comment, one check run and linked artifacts, and doubles nothing when it runs again", async () => {
		const { github, workspace, run } = await scene(wrong);
		const first = await run({ runId: 100 });
		expect(first.exitCode, first.stdout + first.stderr).toBe(1);
		const [comment] = github.state.comments;
		expect(comment?.body).toMatch(/^<!-- trtgate:trtgate\.yml run:100 attempt:1 sha:a{40} -->\n## ❌/);
		expect(comment?.body).toMatch(
			/\[report\.html\]\(https:\/\/github\.com\/acme\/engines\/actions\/runs\/100\/artifacts\/\d+\)/,
		);
		const [check] = github.state.checkRuns;
		expect(check).toMatchObject({ name: "trtgate", headSha: sha, conclusion: "failure" });
		const line =
			readFileSync(join(workspace, "trtgate.yml"), "utf8")
				.split("\n")
				.findIndex((text) => text.includes("golden:")) + 1;
		expect(check?.annotations).toContainEqual(
			expect.objectContaining({ path: "trtgate.yml", annotation_level: "failure" }),
		);
		expect(check?.annotations.every(({ start_line }) => start_line >= 1 && start_line <= line + 10)).toBe(
			true,
		);
		expect(github.state.artifacts.map(({ name }) => name)).toEqual(["trtgate-gate", "report-gate.html"]);
		expect(first.outputs).toMatchObject({
			outcome: "fail",
			"comment-url": expect.stringContaining("#issuecomment-"),
		});
		expect(first.outputs["report-url"]).toContain(`/artifacts/${github.state.artifacts[1]?.id}`);
		expect(first.summary).toContain("report.html");
		expect(
			JSON.parse(readFileSync(join(workspace, "trtgate-out", "publish.json"), "utf8")).published,
		).toHaveLength(4);
		const second = await run({ runId: 101 });
		expect(second.exitCode).toBe(1);
		expect(github.state.comments).toHaveLength(1);
		expect(github.state.comments[0]?.body).toMatch(/run:101/);
		const older = await run({ runId: 99 });
		expect(older.stdout).toMatch(/a newer run has commented already/);
		expect(github.state.comments[0]?.body).toMatch(/run:101/);
		expect(first.post?.exitCode).toBe(0);
		expect(github.state.violations).toEqual([]);
	});

	it("the action on a pull request reports the same outcome with a token that may do nothing, and names all rights that are missing once, in one line to add", async () => {
		const { github, workspace, run } = await scene(wrong);
		const ran = await run({ permissions: { contents: "read" } });
		expect(ran.exitCode).toBe(1);
		expect(ran.outputs["outcome"]).toBe("fail");
		const line = "Add under `permissions:` of the job: `pull-requests: write`, `checks: write`.";
		for (const text of [ran.summary, ran.annotations.map(({ message }) => message).join("\n")])
			expect(text.split(line)).toHaveLength(2);
		expect(ran.stdout + ran.summary).not.toMatch(/statuses|: read`|fork/);
		expect(ran.summary).toMatch(/The outcome stands\. Not everything could be published/);
		expect(ran.annotations.some(({ level, file }) => level === "error" && file === "trtgate.yml")).toBe(true);
		expect(github.state.comments).toEqual([]);
		expect(readResult(join(workspace, "trtgate-out")).outcome).toBe("fail");
	});

	it("the action on a pull request does not try to write with the token of a fork", async () => {
		const { github, run } = await scene();
		const fork = { ...pull, head: { ...pull.head, repo: { id: 2, full_name: "mallory/engines" } } };
		const ran = await run({ isFork: true, payload: { number: 7, pull_request: { number: 7, ...fork } } });
		expect(ran.exitCode, ran.stdout).toBe(0);
		expect(ran.stdout).toMatch(/no comment: the token of a fork's pull request only reads/);
		expect(
			github.state.requests.filter(({ method, path }) => method !== "GET" && /issues|check-runs/.test(path)),
		).toEqual([]);
		expect(github.state.artifacts.length).toBe(2);
	});

	it("the action on a pull request reports nothing with `comment: changes` as long as all pass, then keeps its comment up to date", async () => {
		const { github, workspace, run } = await scene();
		await run({ runId: 1 }, { comment: "changes", "check-run": "false" });
		expect(github.state.comments).toEqual([]);
		project(workspace, wrong);
		await run({ runId: 2 }, { comment: "changes", "check-run": "false" });
		project(workspace);
		await run({ runId: 3 }, { comment: "changes", "check-run": "false" });
		expect(github.state.comments).toHaveLength(1);
		expect(github.state.comments[0]?.body).toMatch(/run:3 .*\n## ✅/);
	});
});

describe("the action outside of pull requests", () => {
	const nightly = { event: "schedule", ref: "refs/heads/main", payload: { schedule: "0 3 * * *" } } as const;

	it("the action outside of pull requests opens one issue at night, keeps it up to date, and closes it when all is well", async () => {
		const { github, workspace, run } = await scene(wrong);
		await run({ ...nightly, runId: 1 }, { "check-run": "false" });
		await run({ ...nightly, runId: 2 }, { "check-run": "false" });
		expect(github.state.issues).toMatchObject([{ state: "open", labels: ["trtgate"] }]);
		expect(github.state.issues[0]?.body).toMatch(/^<!-- trtgate:\S+ run:2 /);
		project(workspace);
		await run({ ...nightly, runId: 3 }, { "check-run": "false" });
		expect(github.state.issues).toMatchObject([{ state: "closed" }]);
		expect(github.state.comments.map(({ body }) => body)).toEqual([expect.stringMatching(/^Recovered: /)]);
	});

	it("the action outside of pull requests needs no workflow run around it", async () => {
		const workspace = quickProject(temporaryFolder(), { "trtgate.yml": untimed() });
		const ran = await runActionFolder(".", { env: {}, cwd: workspace });
		expect(ran.exitCode, ran.stdout).toBe(0);
		expect(existsSync(join(workspace, "trtgate-out", "result.json"))).toBe(true);
	});

	it("the action outside of pull requests refuses an input that it does not know before it runs anything", async () => {
		const workspace = quickProject(temporaryFolder());
		const ran = await runActionFolder(".", { env: {}, cwd: workspace, inputs: { comment: "loudly" } });
		expect(ran.exitCode).toBe(2);
		expect(ran.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
		expect(ran.stdout).toMatch(/input comment is "loudly"; expected one of auto/);
	});
});

describe("the repository's cache", () => {
	const push = {
		event: "push",
		ref: "refs/heads/main",
		payload: { ref: "refs/heads/main", after: sha },
	} as const;
	const quiet = {
		config: "head/trtgate.yml",
		base: "base",
		head: "head",
		artifact: "none",
		"check-run": "false",
	};

	/** A workspace whose jobs run on a recorded GPU, each on a fresh machine. */
	async function gpuScene(comparison: "same-model" | "slower-head" = "same-model") {
		const opened = await scene();
		const { workspace, github } = opened;
		const cached = comparisonConfig(comparison).replace(/^cache:.*$/m, "");
		for (const arm of ["base", "head"] as const)
			writeProject(join(workspace, arm), { ...comparisonFiles(comparison, arm), "trtgate.yml": cached });
		const path = installReplay(temporaryFolder(), { comparison });
		const temp = temporaryFolder();
		return {
			...opened,
			async run(job: Partial<Job> = {}, inputs: Record<string, string> = {}) {
				rmSync(join(temp, "tool-cache"), { recursive: true, force: true });
				const env = await github.environment({ ...push, sha, workspace, temp, ...job });
				return runActionFolder(".", {
					env: { ...env, PATH: path },
					cwd: workspace,
					inputs: { ...quiet, ...inputs },
				});
			},
		};
	}

	it("the repository's cache gives a fresh machine the engines and kernel timings of the last run, and takes nothing twice", async () => {
		const { github, run } = await gpuScene("slower-head");
		const first = await run();
		expect(first.outputs["outcome"], first.stdout + first.stderr).toBe("fail");
		expect(first.stdout).toMatch(
			/nothing is stored under trtgate-timing-v1-linux-x64-NVIDIA-H200-.*10\.6\.0- yet/,
		);
		const keys = github.state.caches.map(({ key }) => key);
		expect(keys).toEqual([
			expect.stringMatching(/^trtgate-timing-v1-.*-[0-9a-f]{32}$/),
			expect.stringMatching(/^trtgate-engines-v1-.*-[0-9a-f]{32}$/),
		]);
		const second = await run();
		expect(second.stdout).toMatch(/restored 2 entries of trtgate-engines-v1/);
		expect(second.stdout.match(/holds nothing new/g)).toHaveLength(2);
		expect(github.state.caches.map(({ key }) => key)).toEqual(keys);
		expect(github.state.violations).toEqual([]);
	});

	it("the repository's cache is never written for a fork, nor is this machine's store", async () => {
		const { github, run } = await gpuScene();
		const fork = { ...pull, head: { ...pull.head, repo: { id: 2, full_name: "mallory/engines" } } };
		const ran = await run({
			...pullRequest,
			isFork: true,
			payload: { number: 7, pull_request: { number: 7, ...fork } },
		});
		expect(ran.exitCode, ran.stdout).toBe(0);
		expect(github.state.caches).toEqual([]);
		expect(ran.stdout).toMatch(/is not saved: the change comes from a fork/);
	});
});

it("artifacts whose name another job has taken get one of their own", async () => {
	const { github, run } = await scene();
	await run({ runId: 5 }, { "check-run": "false" });
	await run({ runId: 5 }, { "check-run": "false" });
	expect(github.state.artifacts.map(({ name }) => name)).toEqual([
		"trtgate-gate",
		"report-gate.html",
		"trtgate-gate-attempt1",
		"report-gate-attempt1.html",
	]);
});

it("a cancelled job leaves a partial result, publishes nothing more, and its post step keeps what there is", async () => {
	const slow = config.replace(
		"    onnx: model.onnx",
		"    onnx: model.onnx\n    prepare: touch started; sleep 60",
	);
	const { github, workspace } = await scene({ "trtgate.yml": slow });
	const env = await github.environment({
		...onBase(pullRequest, workspace),
		workspace,
		temp: temporaryFolder(),
	});
	const out = join(workspace, "trtgate-out");
	const ran = await runActionFolder(".", {
		env,
		cwd: workspace,
		post: true,
		onStart: (pid) => {
			const timer = setInterval(() => {
				if (!existsSync(join(out, "worktrees/base/started"))) return;
				clearInterval(timer);
				process.kill(pid, "SIGINT");
			}, 20);
		},
	});
	expect(ran.exitCode).toBe(3);
	expect(readResult(out)).toMatchObject({
		outcome: "error",
		partial: { stage: "prepare", reason: expect.stringContaining("interrupted") },
	});
	expect(github.state.comments).toEqual([]);
	expect(ran.post?.exitCode).toBe(0);
	expect(ran.post?.stdout).toMatch(/What the run left: published artifact/);
	expect(github.state.artifacts.map(({ name }) => name)).toContain("trtgate-gate");
	expect(existsSync(join(out, "scratch")) || existsSync(join(out, "worktrees"))).toBe(false);
});

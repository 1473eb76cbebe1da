// The action in a workflow's shallow clone: it finds, fetches and prepares the base itself, and leaves the clone as it was.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type ActionRun, runActionFolder } from "../support/action-runner.ts";
import { mergeGroup, pullRequest, schedule } from "../support/event-payloads.ts";
import { git } from "../support/git-history.ts";
import { type Job, startLocalGitHub } from "../support/local-github/start.ts";
import { quickConfig, readResult, untimed } from "../support/project.ts";
import {
	makeRepository,
	type ProjectFiles,
	type PullRepository,
	workspaceOf,
} from "../support/pull-repository.ts";

const project: ProjectFiles = {
	"trtgate.yml": untimed(),
	"model.onnx": "fixture:model.onnx",
	golden: "fixture:golden",
};
const preparing = untimed().replace(
	"    onnx: model.onnx",
	"    onnx: made.onnx\n    prepare: cp model.onnx made.onnx; echo prepared",
);

interface Place {
	repo: PullRepository;
	workspace: string;
	run(
		job: Pick<Job, "event" | "payload" | "sha" | "ref">,
		more?: { post?: boolean; onStart?(pid: number): void },
	): Promise<ActionRun>;
}

async function openPlace(
	files: { base: ProjectFiles; head: ProjectFiles },
	checkedOut?: "base",
): Promise<Place> {
	const repo = makeRepository(files);
	const workspace = workspaceOf(repo, checkedOut === undefined ? repo.merge : repo[checkedOut]);
	const github = await startLocalGitHub({ gitDir: repo.origin });
	onTestFinished(() => github.close());
	const temp = join(repo.root, "temp");
	mkdirSync(temp);
	const run: Place["run"] = async (job, more = {}) => {
		const env = await github.environment({ ...job, workspace, temp });
		return runActionFolder(".", { env: { ...env, TRTGATE_LOCKS: temp }, cwd: workspace, ...more });
	};
	return { repo, workspace, run };
}

const resultOf = (place: Place) => readResult(join(place.workspace, "trtgate-out"));

it("the gate compares the merge commit of a pull request with its merge base, each prepared in its own folder", async () => {
	const place = await openPlace({
		base: { ...project, "trtgate.yml": preparing },
		head: { ...project, "trtgate.yml": preparing, "model.onnx": "fixture:wrong.onnx" },
	});
	const { repo, workspace } = place;
	const payload = pullRequest({ head: repo.head, base: repo.base });
	const run = await place.run({ event: "pull_request", payload, sha: repo.merge, ref: "refs/pull/7/merge" });
	expect(run.exitCode, run.stdout + run.stderr).toBe(1);
	const result = resultOf(place);
	expect(result.arms).toEqual({
		base: { label: "main", ref: "main", commit: repo.base, found: expect.stringContaining("merge commit") },
		head: { label: "#7", ref: "refs/pull/7/merge", commit: repo.merge },
	});
	expect(result.notes).toContainEqual(
		expect.stringMatching(
			/^Base: \w{7} is the commit of main that the pull request's merge commit builds on/,
		),
	);
	expect(result.golden[0]?.checks[0]?.base).toBeLessThan(1e-5);
	expect(git(workspace, "worktree", "list").split("\n")).toHaveLength(1);
	expect(git(workspace, "rev-parse", "HEAD")).toBe(repo.merge);
});

it("the gate explains why there is no base, and checks the rest", async () => {
	const place = await openPlace({ base: project, head: project }, "base");
	const run = await place.run({
		event: "schedule",
		payload: schedule(),
		sha: place.repo.base,
		ref: "refs/heads/main",
	});
	expect(run.exitCode, run.stdout + run.stderr).toBe(0);
	expect(resultOf(place).arms).toMatchObject({
		base: null,
		noBase: `no release comes before ${place.repo.base.slice(0, 7)}`,
	});
	expect(run.summary).toContain("Nothing to compare with (no release comes before");
});

it("the gate refuses to compare a pull request's base with itself", async () => {
	const place = await openPlace({ base: project, head: project }, "base");
	const payload = pullRequest({ head: place.repo.head, base: place.repo.base });
	const run = await place.run({
		event: "pull_request",
		payload,
		sha: place.repo.merge,
		ref: "refs/pull/7/merge",
	});
	expect(run.exitCode).toBe(2);
	expect(run.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
	expect(run.annotations[0]).toMatchObject({
		level: "error",
		title: "trtgate: git-ref",
		message: expect.stringContaining("without the change"),
	});
});

it("the gate leaves no worktree in the clone of a runner that stays, also if the job was killed", async () => {
	const slow = quickConfig.replace("    onnx: model.onnx", "    onnx: model.onnx\n    prepare: sleep 30");
	const files = { ...project, "trtgate.yml": slow };
	const place = await openPlace({ base: files, head: files });
	const tree = join(place.workspace, "trtgate-out", "worktrees", "base");
	const payload = mergeGroup(place.repo.merge, place.repo.base);
	let killed = 0;
	const watch = setInterval(() => {
		if (killed === 0 || !existsSync(join(tree, "model.onnx"))) return;
		clearInterval(watch);
		process.kill(killed, "SIGKILL");
	}, 20);
	onTestFinished(() => clearInterval(watch));
	const job = {
		event: "merge_group",
		payload,
		sha: place.repo.merge,
		ref: "refs/heads/gh-readonly-queue/main/pr-7",
	} as const;
	const run = await place.run(job, {
		post: true,
		onStart: (pid) => {
			killed = pid;
		},
	});
	expect(run.signal).toBe("SIGKILL");
	expect(run.post?.exitCode, run.post?.stderr).toBe(0);
	expect(existsSync(tree)).toBe(false);
	expect(git(place.workspace, "worktree", "list").split("\n")).toHaveLength(1);
});

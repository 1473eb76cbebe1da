import { spawnSync } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import { git } from "../support/git-history.ts";
import { quickConfig, quickProject, writeProject } from "../support/project.ts";
import { makeRepository, type Repository, withoutContainer } from "./run-act.ts";
import {
	change,
	changed,
	changedRepository,
	expectResults,
	ghStub,
	good,
	localGitHub,
	pullPayload,
	releaseActions,
	resultsOf,
	runExample,
	runPull,
	test,
	wrong,
} from "./scenario.ts";

test("measures a change of the own repository and comments on it", async () => {
	const repository = changedRepository();
	const { run, github } = await runPull("pull-request.yml", repository);
	expectResults(run, { gate: ["success"] });
	expect(github.state.comments.map(({ issue }) => issue)).toEqual([7]);
	expect(run.summaries.join("\n")).toContain("checks pass");
});

test("is red where the outputs are wrong, and says so in the comment", async () => {
	const repository = makeRepository([good, wrong], change);
	const { run, github } = await runPull("pull-request.yml", repository);
	expectResults(run, { gate: ["failure"] });
	expect(github.state.comments[0]?.body).toContain("❌");
});

test("says on the pull request that the gate's job ended without a result", async () => {
	const repository = changedRepository();
	const edit = (text: string): string => text.replace("      - id: gate\n", "      - run: exit 1\n$&");
	const { run, github } = await runPull("pull-request.yml", repository, { edit });
	expectResults(run, { gate: ["failure"], lost: ["failure"] });
	expect(github.state.comments.map(({ body }) => body)).toEqual([expect.stringContaining("left no result")]);
	expect(github.state.checkRuns).toMatchObject([{ status: "completed", conclusion: "failure" }]);
});

test("measures a merge group, and nothing where only the title is edited", async () => {
	const repository = changedRepository();
	const [base = "", head = ""] = repository.commits;
	const group = {
		head_sha: head,
		head_ref: "refs/heads/gh-readonly-queue/main/pr-7",
		base_sha: base,
		base_ref: "refs/heads/main",
	};
	const payload = { action: "checks_requested", merge_group: group };
	const queued = await runExample("pull-request.yml", { event: "merge_group", payload, repository });
	expectResults(queued.run, { gate: ["success"] });
	expect(queued.github.state.checkRuns).toMatchObject([{ headSha: head, conclusion: "success" }]);
	const title = { ...pullPayload(repository), action: "edited", changes: { title: { from: "Old" } } };
	const edited = await runPull("pull-request.yml", repository, { payload: title });
	expect(edited.github.state.requests, edited.run.log).toEqual([]);
	const target = { ...title, changes: { base: { ref: { from: "slow" }, sha: { from: base } } } };
	const retargeted = await runPull("pull-request.yml", repository, { payload: target });
	expectResults(retargeted.run, { gate: ["success"] });
});

test("gives a fork's code no machine", async () => {
	const repository = changedRepository();
	const payload = pullPayload(repository, "stranger/engines");
	const { run, github } = await runPull("pull-request.yml", repository, { payload, isFork: true });
	expect(run.summaries).toEqual([]);
	expect(github.state.requests).toEqual([]);
});

test.each(["container.yml", "jetson.yml"])(
	"%s measures a change and comments on it (here without its container, on this machine)",
	async (name) => {
		const repository = changedRepository();
		const { run, github } = await runPull(name, repository, {
			edit: withoutContainer,
			programs: { "apt-get": "exit 0" },
		});
		expectResults(run, { gate: ["success"] });
		expect(github.state.comments.map(({ issue }) => issue)).toEqual([7]);
	},
);

test("has a night and a release of its first commit, which have nothing to compare with", async () => {
	const repository = makeRepository([good]);
	git(repository.folder, "tag", "--delete", "v1");
	const payload = { ref: "refs/heads/main" };
	const night = await runExample("nightly.yml", { event: "workflow_dispatch", payload, repository });
	expectResults(night.run, { gate: ["success"] });
	expect(night.run.summaries.join("\n")).toContain("Nothing to compare with");
	expect(night.github.state.issues).toEqual([]);
	git(repository.folder, "tag", "v1.0.0");
	const gh = ghStub();
	const { run } = await runExample("release.yml", {
		...{ event: "push", ref: "refs/tags/v1.0.0", programs: gh.programs, repository, ...releaseActions() },
		payload: { ref: "refs/tags/v1.0.0", before: "0".repeat(40) },
	});
	expectResults(run, { gate: ["success"], release: ["success"] });
	expect(gh.calls()).toEqual([
		expect.stringMatching(/^release create v1.0.0 .* files\/manifest.json files\/result.json$/),
	]);
});

test("comments on a newcomer's first pull request, which has no base yet", async () => {
	const begin = (folder: string): void => void writeFileSync(join(folder, "README.md"), "Models.\n");
	const start = (folder: string): void => {
		writeProject(folder, { "model.onnx": "fixture:model.onnx" });
		const init = spawnSync(process.execPath, [resolve("dist/cli.js"), "init", "model.onnx", "--quiet"], {
			cwd: folder,
			encoding: "utf8",
		});
		appendFileSync(
			join(folder, "trtgate.yml"),
			"measure: { pairs: [5], warm-up: 1ms, duration: 5ms, threads: 1 }\n",
		);
		expect(init.stdout, init.stderr).toMatch(/Next steps:\n {2}1\. [\s\S]*open a pull request/);
	};
	const repository = makeRepository([begin, start], change);
	const name = ".github/workflows/trtgate.yml";
	const text = readFileSync(join(repository.folder, name), "utf8").replace(
		/(trtgate(?:\/report)?)@v\S+/g,
		`$1@${"0".repeat(40)}`,
	);
	const { run, github } = await runPull("pull-request.yml", repository, { edit: () => text });
	expectResults(run, { gate: ["success"] });
	expect(github.state.comments.map(({ body }) => body)).toEqual([
		expect.stringMatching(/## ✅ [\s\S]*New: the base has no model.onnx/),
	]);
});

test("measures without rights, then comments without the code", async () => {
	const repository = changedRepository();
	const github = await localGitHub();
	const payload = pullPayload(repository, "stranger/engines");
	const measured = await runPull("fork-measure.yml", repository, {
		payload,
		github,
		isFork: true,
		runId: 4711,
	});
	expectResults(measured.run, { gate: ["success"] });
	expect(github.state.comments).toEqual([]);
	expect(github.state.artifacts.map(({ runId }) => runId)).toContain(4711);
	const cause = {
		action: "completed",
		workflow_run: {
			...{ id: 4711, run_attempt: 1, event: "pull_request", conclusion: "success", status: "completed" },
			...{
				head_sha: repository.commits.at(-1),
				head_branch: "change",
				head_repository: { full_name: "stranger/engines" },
			},
		},
	};
	const report = await runExample("fork-report.yml", {
		...{ event: "workflow_run", payload: cause, github, isFork: true, runId: 4712 },
		// The runner has nothing of the repository: the report needs no checkout.
		repository: makeRepository([() => undefined]),
	});
	expectResults(report.run, { report: ["success"] });
	expect(github.state.comments).toMatchObject([
		{ issue: 7, body: expect.stringContaining("Reported by the fork's own job; not verified") },
	]);
});

test("runs on a fork's code without a call to GitHub's API", async () => {
	const repository = changedRepository();
	const payload = pullPayload(repository, "stranger/engines");
	const { run, github } = await runPull("cpu-smoke.yml", repository, { payload, isFork: true });
	expectResults(run, { gate: ["success"] });
	expect(github.state.comments).toEqual([]);
	expect(run.summaries.join("\n")).toContain("CPU, not TensorRT");
});

test("with continue-on-error lets the job go on, and the steps after it read what the gate found", async () => {
	const repository = makeRepository([good, wrong], change);
	const after = `      - env:\n          FOUND: \${{ steps.gate.outputs.outcome }} \${{ steps.gate.outputs.failed }}\n        run: echo "found $FOUND"\n`;
	const edit = (text: string): string =>
		text
			.replace(/^( +)- (uses: trtgate\/trtgate@)/m, "$1- id: gate\n$1  continue-on-error: true\n$1  $2")
			.concat(after);
	const { run } = await runPull("cpu-smoke.yml", repository, { edit });
	expectResults(run, { gate: ["success"] });
	expect(run.log).toMatch(/found fail [1-9]/);
});

test("compares with the commit entered by hand", async () => {
	const repository = makeRepository([good, changed]);
	const payload = { inputs: { base: "v1" }, ref: "refs/heads/main" };
	const { run } = await runExample("nightly.yml", { event: "workflow_dispatch", payload, repository });
	expectResults(run, { gate: ["success"] });
	expect(run.summaries.join("\n")).toContain(`base ${repository.commits[0]?.slice(0, 7)}`);
});

const night = { event: "schedule", payload: { schedule: "17 2 * * *" } };

test("raises an alarm when the night's outputs are wrong", async () => {
	const repository = makeRepository([good, wrong]);
	const { run, github } = await runExample("nightly.yml", { ...night, repository });
	expectResults(run, { gate: ["failure"] });
	expect(github.state.issues.filter(({ state }) => state === "open")).toHaveLength(1);
});

test("makes the release of a tag whose engines pass, with a manifest, its attestation, and engines on request", async () => {
	const [gh, github] = [ghStub(), releaseActions()];
	const { run } = await runExample("release.yml", {
		...{ event: "workflow_dispatch", ref: "refs/tags/v2", programs: gh.programs, actions: github.actions },
		payload: { ref: "refs/tags/v2", inputs: { engines: "true" } },
	});
	expectResults(run, { gate: ["success"], release: ["success"] });
	expect(gh.calls()).toEqual([
		expect.stringMatching(
			/^release create v2 --repo acme\/engines --verify-tag .* files\/engines.tar.gz files\/manifest.json files\/result.json$/,
		),
	]);
	const { type, predicate, subjects } = github.attested();
	expect(predicate).toMatchObject({
		predicateType: type,
		outcome: "pass",
		engines: [{ goldenCases: [{ state: "match" }, { state: "match" }] }],
	});
	expect(subjects).toEqual(
		expect.arrayContaining(["files/manifest.json", expect.stringMatching(/^engines\//)]),
	);
	expect(github.verify(verifyLine())).toBe(0);
});

const releaseV2 = ({ programs }: ReturnType<typeof ghStub>, repository: Repository) =>
	runExample("release.yml", {
		...{ event: "push", ref: "refs/tags/v2", programs, repository, ...releaseActions() },
		payload: { ref: "refs/tags/v2", before: "0".repeat(40) },
	});

test("makes none where they fail", async () => {
	const gh = ghStub();
	const { run } = await releaseV2(gh, makeRepository([good, wrong]));
	expect(resultsOf(run)["gate"], run.log).toEqual(["failure"]);
	expect(gh.calls()).toEqual([]);
});

function verifyLine(): string {
	const line = /^gh attestation verify .*$/m.exec(readFileSync("docs/releases.md", "utf8"))?.[0] ?? "";
	expect(line).toContain("grep -x pass");
	return line;
}

const twoWorkloads = (folder: string): void =>
	void quickProject(folder, {
		"trtgate.yml": quickConfig.replace("[{ batch: 2 }]", "[{ batch: 2 }, { batch: 1 }]"),
	});

test("makes it in spite of a warning where that is allowed by hand, and its attestation does not verify as passed", async () => {
	const [gh, github] = [ghStub(), releaseActions()];
	const { run } = await runExample("release.yml", {
		...{ event: "workflow_dispatch", ref: "refs/tags/v2", programs: gh.programs, actions: github.actions },
		repository: makeRepository([twoWorkloads, good]),
		payload: { ref: "refs/tags/v2", inputs: { "allow-warnings": "true" } },
	});
	expectResults(run, { gate: ["success"], release: ["success"] });
	expect(gh.calls()).toEqual([expect.stringContaining("release create v2 ")]);
	expect(github.attested().predicate).toMatchObject({ outcome: "warn" });
	expect(github.verify(verifyLine())).toBe(1);
});

test("is red where they pass with a warning, and says why nothing was released", async () => {
	const gh = ghStub();
	const { run } = await releaseV2(gh, makeRepository([twoWorkloads, good]));
	expectResults(run, { gate: ["success"], release: ["failure"] });
	expect(gh.calls()).toEqual([]);
	expect(run.log).toMatch(
		/v2 was not released: the outcome of its gate is 'warn', not 'pass' \(1 .*checks pass\)/,
	);
	expect(run.summaries.join("\n")).toContain("No release: v2 was not released");
});

test("every example is played", () => {
	const scenarios = ["examples", "several-jobs", "stranger"]
		.map((name) => readFileSync(`test/act/${name}.act.ts`, "utf8"))
		.join("");
	const names = readdirSync("workflows-examples").filter((name) => name.endsWith(".yml"));
	expect(names.filter((name) => !scenarios.includes(`"${name}"`))).toEqual([]);
});

import { spawnSync } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect } from "vitest";
import { git } from "../support/git-history.ts";
import { quickConfig, quickProject, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";
import { startDocker } from "./docker.ts";
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

test("raises an alarm when the night could not decide", async () => {
	const broken = (folder: string) => writeFileSync(join(folder, "model.onnx"), "no model");
	const repository = makeRepository([good, broken]);
	const { run, github } = await runExample("nightly.yml", { ...night, repository });
	expectResults(run, { gate: ["failure"] });
	expect(github.state.issues).toMatchObject([
		{ state: "open", title: expect.stringContaining("could not decide") },
	]);
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

/** Two parts on one machine may not measure the same engine: each has a model of its own. */
function twoModels(names: readonly [string, string]) {
	const model = /^ {2}net:\n(?: {4}.*\n)+/m.exec(quickConfig)?.[0] ?? "";
	const models = names.map((name) => model.replace("net:", `${name}:`)).join("");
	return (folder: string, more = ""): void => {
		good(folder);
		writeFileSync(join(folder, "trtgate.yml"), `${quickConfig.replace(model, models)}${more}`);
	};
}

const runners = (labels: string) =>
	`runners:\n  - { name: l4, labels: self-hosted, engines: [small] }\n  - { name: h200, labels: ${labels}, engines: [large] }\n`;

test("plans, measures each part, and puts the parts into one comment", async () => {
	const models = twoModels(["small", "large"]);
	const repository = makeRepository(
		[(folder) => models(folder, runners("[self-hosted, gpu]")), changed],
		change,
	);
	const { run, github } = await runPull("matrix.yml", repository);
	expectResults(run, {
		plan: ["success"],
		measure: ["success", "success"],
		report: ["success"],
	});
	expect(github.state.comments).toHaveLength(1);
	for (const name of ["small", "large"]) expect(github.state.comments[0]?.body).toContain(name);
});

test("passes the parts through a shared folder instead of artifacts", async () => {
	const models = twoModels(["small", "large"]);
	const repository = makeRepository([(folder) => models(folder, runners("self-hosted")), changed], change);
	const shared = temporaryFolder();
	const edit = (text: string): string => text.replaceAll("/mnt/trtgate", shared);
	const { run, github } = await runPull("enterprise.yml", repository, { edit });
	expectResults(run, { plan: ["success"], measure: ["success", "success"], report: ["success"] });
	expect(github.state.artifacts).toEqual([]);
	for (const name of ["small", "large"]) expect(github.state.comments[0]?.body).toContain(name);
});

async function runComment(body: (head: string) => string, association = "MEMBER") {
	const repository = makeRepository([good, wrong], change);
	const [base = "", head = ""] = repository.commits;
	git(repository.folder, "switch", "--quiet", "main");
	const github = await localGitHub();
	github.addPull({ number: 7, headRef: "change", headSha: head, baseRef: "main", baseSha: base });
	const comment = { id: 1, body: body(head), author_association: association, user: { login: "mo" } };
	const issue = { number: 7, pull_request: { url: "https://api.github.com/repos/acme/engines/pulls/7" } };
	const payload = { action: "created", issue, comment };
	return runExample("on-demand.yml", { event: "issue_comment", payload, repository, github });
}

test("measures the commit that a member's comment names, beside the default branch, and reports it", async () => {
	const { run, github } = await runComment((head) => `/gate ${head}\nLooks safe.`);
	expectResults(run, { gate: ["failure"], report: ["failure"] });
	expect(github.state.comments).toMatchObject([{ issue: 7, body: expect.stringContaining("## ❌ ") }]);
	expect(github.state.checkRuns).toMatchObject([{ conclusion: "failure" }]);
});

test.each([
	["a stranger's comment", (head: string) => `/gate ${head}`, "NONE"],
	["a comment about it", (head: string) => `Try /gate ${head}`, "MEMBER"],
] as const)("%s starts no job", async (_, body, association) => {
	const { run, github } = await runComment(body, association);
	expect(run.summaries, run.log).toEqual([]);
	expect(github.state.requests).toEqual([]);
});

test("compares two revisions that are entered by hand", async () => {
	const repository = makeRepository([good, wrong, changed]);
	const payload = { inputs: { base: "v1", head: "v2" }, ref: "refs/heads/main" };
	const { run } = await runExample("compare.yml", { event: "workflow_dispatch", payload, repository });
	expectResults(run, { gate: ["failure"] });
	const [base, head] = repository.commits.map((commit) => commit.slice(0, 7));
	expect(run.summaries.join("\n")).toContain(`base ${base} → head ${head}`);
});

describe.each([
	["kubernetes.yml", "pull_request", ["h200", "mig-1g"]],
	["upgrade.yml", "workflow_dispatch", ["today", "tomorrow"]],
] as const)("%s", (name, event, parts) => {
	test("measures twice and reports once (here without its containers)", async () => {
		const write = twoModels(parts);
		const repository = makeRepository(
			[(folder) => write(folder), changed],
			event === "pull_request" ? change : {},
		);
		const payload = event === "pull_request" ? pullPayload(repository) : { ref: "refs/heads/main" };
		const edit = (text: string): string =>
			withoutContainer(text).replace(/^( +)name: (\S+ matrix\.name .*)\n(?= +c)/m, "$&$1only: $2\n");
		const { run } = await runExample(name, { event, payload, repository, edit });
		const measured = { measure: ["success", "success"], report: ["success"] };
		expectResults(run, name === "kubernetes.yml" ? { announce: ["success"], ...measured } : measured);
		for (const part of parts) expect(run.summaries.at(-1)).toContain(part);
	});
});

const gate = readFileSync(".github/workflows/gate.yml", "utf8");
const fromCheckout = (text: string): string =>
	text.replace(
		/uses: trtgate\/trtgate\/(\S+)@.*/,
		`uses: ./$1 # the checkout that it pins: ${/actions\/checkout@[0-9a-f]{40}/.exec(gate)?.[0]}`,
	);
const write = (folder: string): void => void writeProject(folder, { ".github/workflows/gate.yml": gate });

test("gives the jobs that measure, and only them, its container with all GPUs", async () => {
	const docker = await startDocker();
	const repository = makeRepository([(folder) => [write(folder), good(folder)], changed], change);
	const edit = (text: string): string =>
		fromCheckout(text).replace("# container:", "container:").replace("self-hosted,gpu", "self-hosted");
	const { run } = await runPull("reusable.yml", repository, { edit, docker: docker.host });
	expect(docker.asked, run.log).toMatchObject([
		{
			Image: "nvcr.io/nvidia/tensorrt:25.09-py3",
			HostConfig: { DeviceRequests: [{ Count: -1, Capabilities: [["gpu"]] }] },
		},
	]);
	expect(Object.values(resultsOf(run)).flat().sort(), run.log).toEqual(["failure", "success"]);
});

test("plans, measures and reports for a caller that lends it the rights, and hands the outcome on", async () => {
	const after = [
		...[
			"  after:",
			"    needs: gate",
			"    runs-on: ubuntu-latest",
			"    steps:",
			'      - run: echo "outcome is $OUTCOME"',
		],
		...["        env:", "          OUTCOME: $" + "{{ needs.gate.outputs.outcome }}", ""],
	].join("\n");
	const edit = (text: string): string =>
		fromCheckout(text)
			.replace("# only: resnet50/*", "only: small, large")
			.replace("# backend: tensorrt", "backend: onnxruntime")
			.concat(after);
	const models = twoModels(["small", "large"]);
	const begin = (folder: string) => [write(folder), models(folder, runners("self-hosted"))];
	const repository = makeRepository([begin, changed], change);
	const { run, github } = await runPull("reusable.yml", repository, { edit });
	expect(
		run.jobs.map(({ result }) => result),
		run.log,
	).toEqual(Array(run.jobs.length).fill("success"));
	expect(run.log).toMatch(/^outcome is pass$/m);
	expect(github.state.comments).toHaveLength(1);
	for (const name of ["small", "large"]) expect(github.state.comments[0]?.body).toContain(name);
	expect(github.state.checkRuns).toMatchObject([{ conclusion: "success" }]);
});

test("every example is played", () => {
	const scenarios = ["examples", "stranger"]
		.map((name) => readFileSync(`test/act/${name}.act.ts`, "utf8"))
		.join("");
	const names = readdirSync("workflows-examples").filter((name) => name.endsWith(".yml"));
	expect(names.filter((name) => !scenarios.includes(`"${name}"`))).toEqual([]);
});

test("runs the same gate in one step, with its outputs handed on", async () => {
	const repository = changedRepository();
	const steps = [
		"      - id: gate",
		"        uses: trtgate/trtgate/composite@$1",
		"        with:",
		"          prepare: echo made > made.txt",
		'      - run: echo "outcome is $OUTCOME"; cat made.txt',
		"        env:",
		"          OUTCOME: $" + "{{ steps.gate.outputs.outcome }}",
	];
	const edit = (text: string): string =>
		text.replace(/^ {6}- id: gate\n +uses: trtgate\/trtgate@(.*)\n +with:\n +config: .*$/m, steps.join("\n"));
	const { run, github } = await runPull("pull-request.yml", repository, { edit });
	expectResults(run, { gate: ["success"] });
	expect(run.log).toMatch(/^outcome is pass$/m);
	expect(run.log).toMatch(/^made$/m);
	expect(github.state.comments).toHaveLength(1);
});

test("keeps engines and kernel timings with the repository", async () => {
	const states = (["base", "head"] as const).map((arm) => (folder: string) => {
		const files = comparisonFiles("same-model", arm);
		writeProject(folder, {
			...files,
			"trtgate.yml": String(files["trtgate.yml"]).replace(/^cache:.*\n/m, ""),
		});
	});
	const repository = makeRepository(states, change);
	const { run, github } = await runPull("pull-request.yml", repository, {
		path: installReplay(temporaryFolder(), { comparison: "same-model", alone: true }),
		edit: (text) => text.replace(/^ {8}uses: trtgate\/trtgate@.*\n {8}with:$/m, "$&\n          cache: true"),
	});
	expectResults(run, { gate: ["success"] });
	expect(github.state.caches.map(({ key }) => /^trtgate-(\w+)-/.exec(key)?.[1]).sort(), run.log).toEqual([
		"engines",
		"timing",
	]);
});

test("proposes the golden that it recorded as one pull request", async () => {
	const repository = makeRepository([wrong]);
	const gitDir = temporaryFolder();
	git(gitDir, "clone", "--quiet", "--bare", repository.folder, ".");
	const { run, github } = await runExample("golden-refresh.yml", {
		...{ event: "workflow_dispatch", repository, github: await localGitHub({ gitDir }) },
		payload: { inputs: { model: "net", reason: "The head was retrained." }, ref: "refs/heads/main" },
	});
	expectResults(run, { record: ["success"] });
	expect(github.state.pulls).toMatchObject([{ headRef: "trtgate/goldens", baseRef: "main" }]);
	expect(github.state.issues[0]?.body).toContain("Why: The head was retrained. — ");
	expect(run.summaries.join("\n")).toContain("was opened");
	const log = ["log", "-1", "--name-only", "--format=", "trtgate/goldens"];
	const changedFiles = git(gitDir, ...log).split("\n");
	expect(changedFiles).toContain("golden/golden.json");
	expect(changedFiles.filter((path) => !path.startsWith("golden/"))).toEqual([]);
});

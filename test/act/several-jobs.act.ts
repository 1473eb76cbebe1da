import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { git } from "../support/git-history.ts";
import { quickConfig, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";
import { startDocker } from "./docker.ts";
import { makeRepository, withoutContainer } from "./run-act.ts";
import {
	change,
	changed,
	changedRepository,
	expectResults,
	good,
	localGitHub,
	pullPayload,
	resultsOf,
	runExample,
	runPull,
	test,
	wrong,
} from "./scenario.ts";

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

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readSurfaces } from "../../scripts/actions-table.ts";
import { starterWorkflow } from "../../src/core/config/init.ts";
import { parseMatrix } from "../../src/core/plan/matrix.ts";
import { blocksOf, codeSpansOf, pages } from "../support/pages.ts";
import { temporaryFolder } from "../support/project.ts";
import {
	jobsOf,
	readSnippets,
	readWorkflow,
	readWorkflows,
	type Step,
	stepsOf,
	surfaceOf,
} from "../support/workflows.ts";

const examples = readWorkflows("workflows-examples");
const starter = readWorkflow("trtgate init", starterWorkflow({ commit: "0".repeat(40) }));
const committed = [...examples, ...readWorkflows(".github/workflows")];
const workflows = [...committed, starter];

/** Expressions whose text an event's author may have written. */
const foreignText =
	/\$\{\{[^}]*\b(github\.event\b|github\.head_ref|github\.ref_name|github\.ref\b|github\.actor|inputs\.|matrix\.|needs\.|steps\.)[^}]*\}\}/;

describe.each(workflows)("$path", (workflow) => {
	it("a workflow pins every action by its full commit, with the version beside it", () => {
		const uses = [...workflow.text.matchAll(/^\s*(?:- )?uses:\s*(\S+)(.*)$/gm)];
		for (const [line, action = "", rest = ""] of uses) {
			if (action.startsWith("./")) continue;
			expect(action, line).toMatch(/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/);
			expect(rest, line).toMatch(/^ # v\d+\.\d+\.\d+$/);
		}
	});

	it("grants only read access to the whole workflow, and further rights job by job", () => {
		expect(workflow.permissions, "permissions at the top").toBeDefined();
		for (const right of Object.values(workflow.permissions ?? {})) expect(right).toBe("read");
		const atTop = Object.keys(workflow.permissions ?? {}).length > 0;
		for (const [name, job] of jobsOf(workflow))
			expect(atTop || job.permissions !== undefined, `rights of ${name}`).toBe(true);
	});

	it("a workflow gives a reason beside every write permission", () => {
		for (const [line] of workflow.text.matchAll(/^\s+[a-z-]+: write.*$/gm))
			expect(line).toMatch(/: write # \w+/);
	});

	it("a workflow lets no text of an event or an input reach a shell", () => {
		for (const { run } of stepsOf(workflow)) expect(run ?? "").not.toMatch(foreignText);
	});

	it("a workflow runs no code of a fork with write permissions", () => {
		expect(workflow.on).not.toHaveProperty("pull_request_target");
		// Of these, the default branch's token and secrets are at hand.
		if (Object.hasOwn(workflow.on, "issue_comment")) {
			expect(workflow.text).not.toContain("secrets.");
			for (const [name, { permissions = {}, steps = [] }] of jobsOf(workflow))
				if (steps.some(({ uses = "" }) => !uses.includes("/report@")))
					expect(Object.values(permissions), name).not.toContain("write");
		}
		if (!Object.hasOwn(workflow.on, "workflow_run")) return;
		for (const step of stepsOf(workflow)) {
			expect(step.run, "workflow_run only reads").toBeUndefined();
			expect(step.uses ?? "", "workflow_run only reads").not.toMatch(/checkout/);
		}
	});

	it("a workflow leaves no credentials in the checkout, and bounds every job's time", () => {
		for (const step of stepsOf(workflow))
			if (step.uses?.startsWith("actions/checkout@")) expect(step.with?.["persist-credentials"]).toBe(false);
		for (const [name, job] of jobsOf(workflow)) {
			const limit = job["timeout-minutes"];
			if (job.uses === undefined && !/^\$\{\{ inputs\.timeout-minutes \}\}$/.test(String(limit)))
				expect(limit, name).toBeGreaterThan(0);
		}
	});

	it("a workflow gives trtgate only inputs that it has, and reads only outputs that it sets", () => {
		for (const [name, job] of jobsOf(workflow)) {
			for (const step of [...(job.steps ?? []), ...(job.uses === undefined ? [] : [job])])
				checkStep(step, { name, text: workflow.text });
		}
	});
});

/** Inputs in use of others' actions, as the action.yml of that commit names them. */
const othersInputs: Readonly<Record<string, readonly string[]>> = {
	"actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1": [
		"repository",
		"ref",
		"path",
		"fetch-depth",
		"lfs",
		"persist-credentials",
	],
	"actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1": [
		"name",
		"pattern",
		"path",
		"merge-multiple",
	],
	"actions/attest@1e69f48acb82d1966a394da916b4c1698aa569d6 # v4.2.2": [
		"subject-path",
		"predicate-type",
		"predicate-path",
		"sbom-path",
	],
	"github/codeql-action/init@8aad20d150bbac5944a9f9d289da16a4b0d87c1e # v4.36.2": [
		"languages",
		"build-mode",
		"config",
	],
	"github/codeql-action/analyze@8aad20d150bbac5944a9f9d289da16a4b0d87c1e # v4.36.2": [],
	"github/codeql-action/upload-sarif@8aad20d150bbac5944a9f9d289da16a4b0d87c1e # v4.36.2": ["sarif_file"],
	"ossf/scorecard-action@2d1146689b8cda280b9bc96326124645441f03bc # v2.4.4": [
		"results_file",
		"results_format",
		"publish_results",
	],
};

it("workflows use others' actions at commits that were read, and give them inputs that these have", () => {
	for (const { path, text, jobs } of workflows) {
		for (const step of Object.values(jobs).flatMap((job) => job.steps ?? [])) {
			if (!/^(actions|github|ossf)\//.test(step.uses ?? "")) continue;
			const [pin = ""] = text.match(new RegExp(`${step.uses}.*`)) ?? [];
			expect(othersInputs[pin], `${path}: ${pin}`).toEqual(
				expect.arrayContaining(Object.keys(step.with ?? {})),
			);
		}
	}
});

function checkStep(step: Step, { name, text }: { name: string; text: string }): void {
	if (!/^(trtgate\/trtgate|\.\/\.(git\/)?trtgate)/.test(step.uses ?? "")) return;
	const surface = surfaceOf(step.uses ?? "");
	expect(surface, `${step.uses} in ${name}`).toBeDefined();
	for (const key of Object.keys(step.with ?? {}))
		expect(Object.keys(surface?.inputs ?? {}), `${step.uses} in ${name}`).toContain(key);
	if (step.id === undefined) return;
	for (const [, output = ""] of text.matchAll(new RegExp(`steps\\.${step.id}\\.outputs\\.([\\w-]+)`, "g")))
		expect(Object.keys(surface?.outputs ?? {}), `${step.id} in ${name}`).toContain(output);
}

it("the examples keep forks off self-hosted runners, or give them no permissions", () => {
	for (const workflow of examples) {
		if (!Object.hasOwn(workflow.on, "pull_request")) continue;
		for (const [name, job] of jobsOf(workflow)) {
			const hosted = typeof job["runs-on"] === "string" && job["runs-on"].startsWith("ubuntu-");
			const rights = Object.entries(job.permissions ?? {}).filter(([, right]) => right === "write");
			if (hosted && rights.length === 0) continue;
			const guarded =
				/head\.repo\.full_name == github\.repository/.test(job.if ?? "") ||
				/"?needs"?:/.test(JSON.stringify(job));
			expect(guarded || rights.length === 0, `${name} of ${workflow.path}`).toBe(true);
		}
	}
});

it("the reusable workflow changes no file of the caller's checkout: it runs no command, and its action lies in .git", () => {
	const gate = readWorkflow("gate.yml", readFileSync(".github/workflows/gate.yml", "utf8"));
	for (const [name, { steps = [] }] of jobsOf(gate)) {
		expect(
			steps.filter(({ run }) => run !== undefined),
			name,
		).toEqual([]);
		const paths = steps.flatMap((step) =>
			step.uses?.startsWith("actions/checkout@") ? [step.with?.["path"]] : [],
		);
		if (paths.length > 1) expect(paths, name).toEqual([undefined, ".git/trtgate"]);
	}
});

it("the examples have jobs of different names, so that each can be a required check of its own", () => {
	const names = examples.flatMap((workflow) => jobsOf(workflow).map(([id, job]) => job.name ?? id));
	expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

it("the examples that measure in several jobs name each part to the report, so that a lost one is missed", () => {
	const literal = examples.flatMap(({ path, jobs }) => {
		const matrix = Object.values(jobs).find(({ strategy }) => strategy !== undefined)?.strategy?.matrix;
		const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);
		const expected = steps.find(({ uses = "" }) => uses.includes("/report@"))?.with?.["expected"];
		if (matrix === undefined) return [];
		if (typeof matrix === "string") expect(String(expected), path).toContain("outputs.matrix");
		else
			expect(
				parseMatrix(String(expected)).map(({ name, artifact }) => [name, artifact]),
				path,
			).toEqual(matrix.include.map(({ name }) => [name, `trtgate-${name}`]));
		return [path];
	});
	expect(literal).toHaveLength(4);
});

it("the examples are all in the README, and nothing else is", () => {
	const named = [...readFileSync("workflows-examples/README.md", "utf8").matchAll(/\(([\w-]+\.yml)\)/g)].map(
		(match) => match[1],
	);
	expect([...new Set(named)].sort()).toEqual(examples.map(({ path }) => path.split("/").at(-1)).sort());
});

it("the examples for ARC put the GPU on the job's own container, whole or as a slice, under the names that the workflow uses", () => {
	const read = (name: string) => parse(readFileSync(`workflows-examples/arc/${name}`, "utf8"));
	const { data, metadata } = read("pod-templates.yaml");
	const limits = Object.values<string>(data).map((text) => {
		const [container, ...others] = parse(text).spec.containers;
		expect([container.name, others]).toEqual(["$job", []]);
		return container.resources.limits;
	});
	expect(limits).toEqual([{ "nvidia.com/gpu": 1 }, { "nvidia.com/mig-1g.18gb": 1 }]);
	const values = read("values-h200.yaml");
	const [runner] = values.template.spec.containers;
	expect(values).toMatchObject({ containerMode: { type: "kubernetes" }, runnerScaleSetName: "arc-h200" });
	expect(runner.env[0].value).toBe(`${runner.volumeMounts[0].mountPath}/${Object.keys(data)[0]}`);
	expect(values.template.spec.volumes[0].configMap.name).toBe(metadata.name);
	expect(readFileSync("workflows-examples/kubernetes.yml", "utf8")).toContain(
		`scale-set: ${values.runnerScaleSetName} `,
	);
});

const inTwoAttempts = { "": "fail", "-attempt2": "pass" };
it.skipIf(spawnSync("jq", ["--version"]).status !== 0).each([
	["signs engines whose hashes the manifest names", "plan of the engine", 0, { "": "pass" }],
	["signs no engines of another measurement", "another plan", 1, { "": "pass" }],
	["takes the files of the last attempt", "plan of the engine", 0, inTwoAttempts],
	["takes no files of an earlier attempt", "plan of the engine", 1, { "": "fail" }],
])("the release of engines %s (needs jq)", (_, built, status, outcomes: Record<string, string>) => {
	const folder = temporaryFolder();
	const write = (path: string, text: string): void => {
		mkdirSync(dirname(join(folder, path)), { recursive: true });
		writeFileSync(join(folder, path), text);
	};
	const engineSha256 = createHash("sha256").update("plan of the engine").digest("hex");
	const engines = [{ file: "resnet50-fp16.engine", engineSha256 }];
	for (const [attempt, outcome] of Object.entries(outcomes)) {
		const own = attempt === Object.keys(outcomes).at(-1) ? built : "an earlier plan";
		write(`measured/trtgate-gate${attempt}/exports/manifest.json`, JSON.stringify({ outcome, engines }));
		write(`measured/trtgate-gate${attempt}/result.json`, "{}");
		write(`measured/engines-gate${attempt}/resnet50-fp16.engine`, own);
	}
	const steps =
		readWorkflow("release.yml", readFileSync("workflows-examples/release.yml", "utf8")).jobs["release"]
			?.steps ?? [];
	const script = steps.find(({ run }) => run?.includes("engines.tar.gz"))?.run ?? "";
	// Starts a shell as GitHub does if the step names none.
	const env = { ...process.env, OUTCOME: "pass" };
	const run = spawnSync("bash", ["-e", "-c", script], { cwd: folder, encoding: "utf8", env });
	expect(run.status, run.stderr).toBe(status);
	expect(existsSync(join(folder, "files/engines.tar.gz"))).toBe(status === 0);
});

it("the package is signed with its origin and its SBOM before it is released, and both are in the release", () => {
	const steps =
		readWorkflow("package.yml", readFileSync(".github/workflows/package.yml", "utf8")).jobs["package"]
			?.steps ?? [];
	expect(steps.slice(-3)).toMatchObject([
		{ uses: expect.stringMatching(/^actions\/attest@/), with: { "subject-path": "trtgate-*.tgz" } },
		{
			uses: expect.stringMatching(/^actions\/attest@/),
			with: { "subject-path": "trtgate-*.tgz", "sbom-path": "dist/sbom.cdx.json" },
		},
		{ run: expect.stringMatching(/^gh release create .* trtgate-\*\.tgz dist\/sbom\.cdx\.json$/) },
	]);
});

it("snippets of the documentation name only inputs that exist", () => {
	const snippets = pages.flatMap(readSnippets);
	expect(snippets).not.toEqual([]);
	for (const { jobs, text, path } of snippets)
		for (const job of Object.values(jobs))
			for (const step of job.steps ?? []) checkStep(step, { name: path, text });
});

it("commands of the documentation start workflows with inputs that they have", () => {
	const started = pages
		.flatMap((path) => [...blocksOf(path, "sh"), ...codeSpansOf(path)])
		.flatMap((text) => [...text.matchAll(/\bgh workflow run (\S+)(.*)/g)]);
	expect(started.length).toBeGreaterThan(2);
	for (const [command, name, options = ""] of started) {
		const { on } = examples.find(({ path }) => path.endsWith(`/${name}`)) ?? { on: {} };
		const given = [...options.matchAll(/ -f ([\w-]+)=/g)].map(([, input = ""]) => input);
		expect(on, command).toHaveProperty("workflow_dispatch");
		for (const input of given) expect(on, command).toHaveProperty(["workflow_dispatch", "inputs", input]);
	}
});

const found = (program: string): boolean =>
	spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;

const paths = [...committed.map(({ path }) => path), ...readSurfaces().map(({ path }) => path)];

it.skipIf(!found("zizmor"))("linters zizmor finds nothing (runs where zizmor is on PATH)", () => {
	const run = spawnSync("zizmor", ["--offline", "--no-progress", "--persona=pedantic", ...paths], {
		encoding: "utf8",
	});
	expect(run.status, run.stdout + run.stderr).toBe(0);
});

// A base that has the model and cannot give it: an error of the run in every report, never new and never green.
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runActionFolder } from "../support/action-runner.ts";
import { pullRequest, schedule } from "../support/event-payloads.ts";
import { git } from "../support/git-history.ts";
import { pathWithoutLfs } from "../support/git-without-lfs.ts";
import { startLocalGitHub } from "../support/local-github/start.ts";
import {
	quickConfig,
	readResult,
	runCli,
	temporaryFolder,
	untimed,
	writeProject,
} from "../support/project.ts";
import { makeRepository, workspaceOf } from "../support/pull-repository.ts";
import { comparisonFiles, installReplay, type ReplayFault } from "../support/replay/install.ts";

/** A recorded model: what a base lacks is the same on any backend. */
const project = comparisonFiles("same-model", "head");
const lenient = String(project["trtgate.yml"]);
const model = project["model.onnx"] ?? "";
const strict = `${lenient}gates: { inconclusive: fail }\n`;
const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 4711\n`;
const prepared = (command: string, name = "net", config = strict): string =>
	config.replace("  net:\n    onnx: model.onnx", `  ${name}:\n    onnx: made.onnx\n    prepare: ${command}`);

type Files = Readonly<Record<string, string | Uint8Array>>;

/** A repository whose first commit is the base; the head lies in the working tree. */
function repositoryOf(base: (folder: string) => void, head: Files = {}): string {
	const folder = temporaryFolder();
	git(folder, "init", "-q", "-b", "main");
	base(folder);
	git(folder, "add", "-A");
	git(folder, "commit", "-qm", "base");
	for (const name of readdirSync(folder))
		if (name !== ".git") rmSync(join(folder, name), { recursive: true });
	writeProject(folder, { ...project, "trtgate.yml": strict, ...head });
	return folder;
}

function gate(cwd: string, { faults = [], path }: { faults?: readonly ReplayFault[]; path?: string } = {}) {
	const replayed = installReplay(temporaryFolder(), { comparison: "same-model", faults });
	const env = { PATH: path === undefined ? replayed : `${replayed.split(":")[0]}:${path}` };
	return runCli(["run", "--base", "main", "--out", "out"], { cwd, env });
}

const files = (of: Files) => (folder: string) => void writeProject(folder, { ...project, ...of });

const lfs = { ".gitattributes": "*.onnx filter=lfs -text\n" };
const inSubmodule = { onnx: "zoo/model.onnx" };
/** A model of one name each, which is broken in the base alone. */
const models: Readonly<Record<string, { onnx?: string; prepare?: string; code: string; says: RegExp }>> = {
	fails: {
		prepare: "test -f exporter && cp intact.onnx fails.onnx",
		code: "prepare-failed",
		says: /prepare command of fails failed in the base/,
	},
	empty: {
		prepare: "if test -f exporter; then cp intact.onnx empty.onnx; fi",
		code: "model-missing",
		says: /succeeded in the base but wrote no empty\.onnx/,
	},
	page: { code: "model-unreadable", says: /The base's model cannot be read: page\.onnx is a text file/ },
	link: { code: "model-missing", says: /link\.onnx is a link whose target does not exist/ },
	submodule: { ...inSubmodule, code: "model-missing", says: /zoo is a submodule, which is not checked out/ },
};

/** The base fails in every way; its own prepare commands are those of the config above. */
const severalModels = strict.replace(/^ {2}net:\n {4}onnx: .*\n((?: {4}.*\n)+)/m, (_, rest: string) =>
	Object.entries(models)
		.map(([name, { onnx = `${name}.onnx`, prepare }]) => {
			const making = prepare === undefined ? "" : `    prepare: ${JSON.stringify(prepare)}\n`;
			return `  ${name}:\n    onnx: ${onnx}\n${making}${rest}`;
		})
		.join(""),
);

it("a base whose models are broken in every way is an error with a fix in every report, and the head is judged all the same", async () => {
	const given = Object.entries(models).filter(([, { prepare }]) => prepare === undefined);
	const cwd = repositoryOf(
		(folder) => {
			writeProject(folder, {
				...project,
				"trtgate.yml": severalModels,
				"page.onnx": "<html>",
				"intact.onnx": model,
			});
			symlinkSync(".dvc/cache/model", join(folder, "link.onnx"));
			mkdirSync(join(folder, "zoo"));
			git(join(folder, "zoo"), "init", "-q");
			git(join(folder, "zoo"), "commit", "-qm", "models", "--allow-empty");
		},
		{
			...Object.fromEntries(given.map(([name, { onnx = `${name}.onnx` }]) => [onnx, model])),
			...{ "trtgate.yml": severalModels, exporter: "here", "intact.onnx": model },
		},
	);
	const run = await gate(cwd);
	expect(run.exit, run.stdout + run.stderr).toBe(2);
	const result = readResult(join(cwd, "out"));
	expect(result).toMatchObject({ outcome: "error", failureKind: "configuration" });
	for (const [model, { code, says }] of Object.entries(models)) {
		const errors = result.errors.filter((error) => error.model === model);
		expect(errors, model).toMatchObject([{ code, arm: "base", model, message: expect.stringMatching(says) }]);
		expect(result.workloads.filter((row) => row.model === model)).toMatchObject([
			{ verdict: "not-comparable" },
		]);
		expect(result.golden.filter((verdict) => verdict.model === model).map(({ state }) => state)).toEqual([
			"match",
			"match",
		]);
	}
	const reports = ["report.html", "junit.xml", "exports/findings.sarif"];
	const text = (name: string) => readFileSync(join(cwd, "out", name), "utf8");
	for (const name of reports)
		for (const { code } of Object.values(models)) expect(text(name), name).toContain(code);
	// The comment is brief.
	expect(text("report.html")).toContain("compare with another commit");
	expect(run.stdout).toMatch(/COULD NOT DECIDE/);
	expect(run.stdout.replace(/\s+/g, " ")).toContain("compare with another commit");
	expect(JSON.stringify(result) + run.stdout).not.toMatch(/New: |worktrees\/base\/model/);
});

it("a base whose model is a pointer of Git LFS that cannot be fetched is the runner's fault: exit 3", async () => {
	const cwd = repositoryOf(files({ ...lfs, "model.onnx": pointer }));
	const run = await gate(cwd, { path: pathWithoutLfs(cwd) });
	expect(run.exit, run.stdout + run.stderr).toBe(3);
	const result = readResult(join(cwd, "out"));
	expect(result).toMatchObject({ outcome: "error", failureKind: "runner" });
	const message = expect.stringMatching(/model\.onnx is a Git LFS pointer.*git-lfs is not installed/);
	expect(result.errors).toMatchObject([{ code: "lfs-unavailable", arm: "base", model: "net", message }]);
});

it("a base whose config cannot be read, and whose prepare command fails, is the configuration's fault: exit 2", async () => {
	const cwd = repositoryOf(files({ "trtgate.yml": "version: [" }), {
		"trtgate.yml": prepared("test -f exporter && cp model.onnx made.onnx"),
		exporter: "here",
	});
	const run = await gate(cwd);
	expect(run.exit, run.stdout + run.stderr).toBe(2);
	const result = readResult(join(cwd, "out"));
	expect(result).toMatchObject({ outcome: "error", failureKind: "configuration" });
	expect(result.errors).toMatchObject([
		{ code: "prepare-failed", arm: "base", message: expect.stringMatching(/failed in the base/) },
	]);
});

it.each<[string, (folder: string) => void, Readonly<Record<string, string>>]>([
	[
		"has neither the model nor a config",
		(folder) => void writeProject(folder, { "README.md": "nothing yet" }),
		{},
	],
	[
		"has another model, and no exporter for the new one",
		files({ "model.onnx": comparisonFiles("slower-head", "base")["model.onnx"] ?? "" }),
		{ "trtgate.yml": prepared("test -f exporter && cp model.onnx made.onnx", "other"), exporter: "here" },
	],
])("a base that %s makes the model new: exit 0", async (_, base, head) => {
	const cwd = repositoryOf(base, head);
	const run = await gate(cwd);
	expect(run.exit, run.stdout + run.stderr).toBe(0);
	const result = readResult(join(cwd, "out"));
	expect(result.workloads).toMatchObject([
		{
			verdict: "missing",
			latency: { reason: expect.stringMatching(/^New: the base(?:'s config)? has no /) },
		},
	]);
});

it.each([
	["gates: { not-comparable: fail }\n", 0, "inconclusive"],
	["gates: { inconclusive: fail }\n", 0, "inconclusive"],
])(
	"a base whose config has an engine of which its tree has no model is compared with nothing, and never green: with the base's rules %j exit %i",
	async (gates, exit, outcome) => {
		const cwd = repositoryOf((folder) => void writeProject(folder, { "trtgate.yml": `${lenient}${gates}` }));
		const run = await gate(cwd);
		expect(run.exit, run.stdout + run.stderr).toBe(exit);
		const result = readResult(join(cwd, "out"));
		expect(result).toMatchObject({ outcome, workloads: [{ verdict: "not-comparable" }] });
		const messages = result.gates
			.map(({ message }) => message)
			.filter((message) => /not comparable/i.test(message));
		expect(messages).toEqual([
			expect.stringMatching(/^Not comparable: The base's config has this engine, but the base has no /),
		]);
	},
);

it("a base that does not build is compared with nothing, and never green", async () => {
	const other = Buffer.from(model);
	// In a weight.
	other.writeUInt8(other.readUInt8(400_001) ^ 1, 400_001);
	const cwd = repositoryOf(files({ "model.onnx": other }));
	const faults: ReplayFault[] = [
		{ step: "build", arm: "base", do: "recording", recording: "10.6/fail-bad-unsupported-op" },
	];
	const run = await gate(cwd, { faults });
	const result = readResult(join(cwd, "out"));
	// The change may be what repairs it.
	expect(run.exit).toBe(0);
	expect(result).toMatchObject({ outcome: "inconclusive", workloads: [{ verdict: "not-comparable" }] });
	expect(result.builds.map(({ arm, state }) => [arm, state])).toEqual([
		["base", "refused"],
		["head", "built"],
	]);
	expect(run.stdout).not.toMatch(/PASSED/);
});

describe("a base's golden", () => {
	const manifest = String(project["golden/golden.json"]);

	it.each<[string, string, RegExp]>([
		["that cannot be read", "{", /golden\/golden\.json cannot be read, so changes to it are unknown/],
		[
			"whose tensors stayed pointers of Git LFS, and that is another now",
			manifest.replace("bc667c05d1d632a43bf23e796e7704268ec43df11ce493f7a918e186e9c57a89", "0".repeat(64)),
			/Golden encoder@1 became another of the same id.*1 output moved/,
		],
	])("a base's golden %s asks for a review: never green without one", async (_, golden, says) => {
		const cwd = repositoryOf((folder) => {
			files({})(folder);
			writeProject(folder, { "golden/golden.json": golden, "golden/hidden-0.bin": pointer });
		});
		const run = await gate(cwd);
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		const result = readResult(join(cwd, "out"));
		expect(result.outcome).toBe("warn");
		expect(result.gates).toContainEqual(
			expect.objectContaining({
				gate: "golden-change",
				status: "warn",
				message: expect.stringMatching(says),
			}),
		);
	});
});

describe("a workflow's base", () => {
	const quick = { "model.onnx": "fixture:model.onnx", golden: "fixture:golden" };

	async function openPlace(config = quickConfig) {
		const repo = makeRepository({
			base: { ...quick, "trtgate.yml": config },
			head: { ...quick, "trtgate.yml": config, exporter: "here" },
		});
		const workspace = workspaceOf(repo);
		const github = await startLocalGitHub({ gitDir: repo.origin });
		onTestFinished(() => github.close());
		const temp = join(repo.root, "temp");
		mkdirSync(join(temp, "empty"), { recursive: true });
		return { repo, workspace, github, temp };
	}

	type Place = Awaited<ReturnType<typeof openPlace>>;
	const pulled = ({ repo }: Place) => ({
		...{ event: "pull_request", payload: pullRequest({ head: repo.head, base: repo.base }) },
		...{ sha: repo.merge, ref: "refs/pull/7/merge" },
	});
	const nightly = ({ repo }: Place) => ({
		event: "schedule",
		payload: schedule(),
		sha: repo.merge,
		ref: "refs/heads/main",
	});

	async function play(
		place: Place,
		job: ReturnType<typeof pulled | typeof nightly>,
		env: Readonly<Record<string, string>> = {},
	) {
		const { workspace, temp, github } = place;
		const given = await github.environment({ ...job, workspace, temp } as Parameters<
			typeof github.environment
		>[0]);
		const run = await runActionFolder(".", {
			env: { ...given, TRTGATE_LOCKS: temp, ...env },
			cwd: workspace,
		});
		return { run, result: readResult(join(workspace, "trtgate-out")) };
	}

	it.each([
		["pull request", pulled],
		["night", nightly],
	] as const)(
		"a workflow's base cannot be found without git: a %s ends with an error, and reports what to install",
		async (_, job) => {
			const place = await openPlace();
			const { run, result } = await play(place, job(place), { PATH: join(place.temp, "empty") });
			expect(run.exitCode, run.stdout + run.stderr).toBe(3);
			expect(run.outputs).toMatchObject({ outcome: "error", "failure-kind": "runner" });
			expect(result.errors).toMatchObject([
				{ code: "tool-missing", fix: expect.stringContaining("Install git") },
			]);
			expect(place.github.state.checkRuns).toMatchObject([{ conclusion: "failure" }]);
			expect(run.summary).toContain("git is not installed");
		},
	);

	it("a workflow's base cannot be found in files without a history: exit 2", async () => {
		const place = await openPlace();
		rmSync(join(place.workspace, ".git"), { recursive: true });
		const { run, result } = await play(place, pulled(place));
		expect(run.exitCode, run.stdout + run.stderr).toBe(2);
		expect(result.errors).toMatchObject([
			{ code: "git-ref", message: expect.stringContaining("not a git repository") },
		]);
	});

	it("a workflow's base whose prepare command fails is reported in the comment, the check run and the summary", async () => {
		const place = await openPlace(
			untimed(prepared("test -f exporter && cp model.onnx made.onnx", "net", quickConfig)),
		);
		const { run, result } = await play(place, pulled(place));
		expect(run.exitCode, run.stdout + run.stderr).toBe(2);
		expect(run.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
		expect(result.errors).toMatchObject([{ code: "prepare-failed", arm: "base" }]);
		const { comments, checkRuns } = place.github.state;
		expect(comments[0]?.body).toMatch(/## 🛑 .*[\s\S]*failed in the base[\s\S]*compare with another commit/);
		expect(checkRuns).toMatchObject([{ conclusion: "failure" }]);
		expect(run.summary).toContain("failed in the base");
	});
});

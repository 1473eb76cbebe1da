import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { git } from "../support/git-history.ts";
import { pathWithoutLfs } from "../support/git-without-lfs.ts";
import { openPlay } from "../support/github-play.ts";
import {
	expectExit,
	type ProjectFiles,
	quickConfig,
	quickFiles,
	readResult,
	runCli,
	temporaryFolder,
	untimed,
	writeProject,
} from "../support/project.ts";
import { comparisonFiles, installReplay, type ReplayFault } from "../support/replay/install.ts";

/** A recorded model: what a base lacks is the same on any backend. */
const project = comparisonFiles("same-model", "head");
const lenient = String(project["trtgate.yml"]);
const model = project["model.onnx"] ?? "";
const strict = `${lenient}gates: { inconclusive: fail }\n`;
const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 4711\n`;
const prepared = (command: string, name = "net", config = strict): string =>
	config.replace("  net:\n    onnx: model.onnx", `  ${name}:\n    onnx: made.onnx\n    prepare: ${command}`);

function repositoryOf(base: (folder: string) => void, head: ProjectFiles = {}): string {
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

const files = (of: ProjectFiles) => (folder: string) => void writeProject(folder, { ...project, ...of });

const lfs = { ".gitattributes": "*.onnx filter=lfs -text\n" };
const inSubmodule = { onnx: "zoo/model.onnx" };
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
	expectExit(run, 2);
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
	expect(text("report.html")).toContain("compare with another commit");
	expect(run.stdout).toMatch(/COULD NOT DECIDE/);
	expect(run.stdout.replace(/\s+/g, " ")).toContain("compare with another commit");
	expect(JSON.stringify(result) + run.stdout).not.toMatch(/New: |worktrees\/base\/model/);
});

it("a base whose model is a pointer of Git LFS that cannot be fetched is the runner's fault: exit 3", async () => {
	const cwd = repositoryOf(files({ ...lfs, "model.onnx": pointer }));
	const run = await gate(cwd, { path: pathWithoutLfs(cwd) });
	expectExit(run, 3);
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
	expectExit(run, 2);
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
	expectExit(run, 0);
	const result = readResult(join(cwd, "out"));
	expect(result.workloads).toMatchObject([
		{
			verdict: "missing",
			latency: { reason: expect.stringMatching(/^New: the base(?:'s config)? has no /) },
		},
	]);
});

it("a base whose config has an engine of which its tree has no model is compared with nothing, and never green, whatever its rules say", async () => {
	const rules = `${lenient}gates: { not-comparable: fail, inconclusive: fail }\n`;
	const cwd = repositoryOf((folder) => void writeProject(folder, { "trtgate.yml": rules }));
	const run = await gate(cwd);
	expectExit(run, 0);
	const { outcome, workloads, gates } = readResult(join(cwd, "out"));
	expect([outcome, workloads[0]?.verdict]).toEqual(["inconclusive", "not-comparable"]);
	expect(gates.map(({ message }) => message).filter((message) => /not comparable/i.test(message))).toEqual([
		expect.stringMatching(/^Not comparable: The base's config has this engine, but the base has no /),
	]);
});

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
	expectExit(run, 0);
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

async function openPull(config = quickConfig) {
	const play = await openPlay();
	const base = play.commit({ ...quickFiles, "trtgate.yml": config }, { ref: "refs/heads/main" });
	const head = play.commit({ exporter: "here" }, { onto: base });
	return { play, base, head };
}

it("a workflow's base cannot be found without git: a pull request ends with an error, and reports what to install", async () => {
	const { play, base, head } = await openPull();
	const { run, result } = await play.pull({ base, head }, { env: { PATH: join(play.root, "empty") } });
	expectExit(run, 3);
	expect(run.outputs).toMatchObject({ outcome: "error", "failure-kind": "runner" });
	expect(result().errors).toMatchObject([
		{ code: "tool-missing", fix: expect.stringContaining("Install git") },
	]);
	expect(play.github.state.checkRuns).toMatchObject([{ conclusion: "failure" }]);
	expect(run.summary).toContain("git is not installed");
});

it("a workflow's base whose prepare command fails is reported in the comment, the check run and the summary", async () => {
	const { play, ...pushed } = await openPull(
		untimed(prepared("test -f exporter && cp model.onnx made.onnx", "net", quickConfig)),
	);
	const { run, result } = await play.pull(pushed);
	expectExit(run, 2);
	expect(run.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
	expect(result().errors).toMatchObject([{ code: "prepare-failed", arm: "base" }]);
	const { comments, checkRuns } = play.github.state;
	expect(comments[0]?.body).toMatch(/## 🛑 .*[\s\S]*failed in the base[\s\S]*compare with another commit/);
	expect(checkRuns).toMatchObject([{ conclusion: "failure" }]);
	expect(run.summary).toContain("failed in the base");
});

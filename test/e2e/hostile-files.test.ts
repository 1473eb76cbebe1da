import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type ActionRun, runActionFolder } from "../support/action-runner.ts";
import { outputOf } from "../support/child-output.ts";
import {
	type CliRun,
	expectExit,
	expectRefusal,
	quickConfig,
	quickProject,
	runCli,
	runLimited,
	runNode,
	temporaryFolder,
	writeProject,
} from "../support/project.ts";

const makers = {
	"a folder": (path: string) => void mkdirSync(path),
	"a named pipe": (path: string) => void execFileSync("mkfifo", [path]),
	"a loop of links": (path: string) => symlinkSync(path, path),
	"3 GB": (path: string) => {
		writeFileSync(path, "");
		truncateSync(path, 3e9);
	},
};

function projectWith(name: string, make: (path: string) => void): string {
	const folder = quickProject(temporaryFolder(), { "p.json": "{}", "out/result.json": "{}", "trt.log": "" });
	rmSync(join(folder, name), { force: true });
	mkdirSync(dirname(join(folder, name)), { recursive: true });
	make(join(folder, name));
	return folder;
}

const readers: readonly { file: string; argv: readonly string[]; code: RegExp }[] = [
	{ file: "trtgate.yml", argv: ["run"], code: /config-unreadable|path-unreadable/ },
	{
		file: "trtgate.yml",
		argv: ["golden", "record", "--model", "net"],
		code: /config-unreadable|path-unreadable/,
	},
	{ file: "golden/golden.json", argv: ["run"], code: /golden-invalid|path-unreadable/ },
	{
		file: "golden/golden.json",
		argv: ["golden", "check", "golden/golden.json", "--outputs", "."],
		code: /golden-invalid/,
	},
	{ file: "golden/golden.json", argv: ["golden", "inspect", "golden/golden.json"], code: /golden-invalid/ },
	{
		file: "golden/golden.json",
		argv: ["golden", "record", "--model", "net", "--reason", "x", "--author", "y"],
		code: /golden-invalid/,
	},
	{ file: "golden/y0.npy", argv: ["run"], code: /tensor-invalid|path-unreadable/ },
	{
		file: "golden/y0.npy",
		argv: ["golden", "inspect", "golden/golden.json"],
		code: /tensor-invalid|path-unreadable/,
	},
	{ file: "model.onnx", argv: ["run"], code: /model-unreadable|path-unreadable/ },
	{ file: "model.onnx", argv: ["preflight", "model.onnx"], code: /model-unreadable/ },
	{ file: "p.json", argv: ["verdict", "p.json"], code: /pairs-invalid/ },
	{ file: "out/result.json", argv: ["report", "out"], code: /result-invalid/ },
	{
		file: "p.json",
		argv: ["golden", "check", "golden/golden.json", "--outputs", "p.json"],
		code: /tensor-invalid/,
	},
];

const rows = readers.flatMap((reader) =>
	Object.entries(makers)
		// --outputs takes a folder, too.
		.filter(
			([what]) => !(what === "a folder" && reader.argv.includes("p.json") && reader.argv[0] === "golden"),
		)
		.map(([what, make]) => ({ ...reader, what, make, command: reader.argv.join(" ") })),
);

it.each(rows)(
	"a file that is none $file as $what is refused by `$command` with its path and a fix",
	async ({ file, argv, code, what, make }) => {
		const run = await runCli(argv, { cwd: projectWith(file, make) });
		// A large file is a truncated model or a tensor of another size, like any other large file.
		expect(run.stderr).toMatch(what === "3 GB" ? /\[[a-z-]+\]\n/ : new RegExp(`\\[(${code.source})\\]`));
		expect(run.stderr).toContain(file);
		expect(run.stderr).toMatch(/→ \S/);
		expectExit(run, 2);
	},
);

it("a file that is none is a log that diagnose is given, too", async () => {
	for (const what of ["a named pipe", "a loop of links"] as const) {
		const run = await runCli(["diagnose", "trt.log"], { cwd: projectWith("trt.log", makers[what]) });
		expectRefusal(run, /trt\.log.*\[usage\]\n {2}→/s);
	}
});

it("a file that is none is a device that a person names", async () => {
	const run = await runCli(["run", "--config", "/dev/zero"], { cwd: quickProject(temporaryFolder()) });
	expectRefusal(run, /\/dev\/zero cannot be read: it is a device.*\[config-unreadable\]/);
});

it("a file that is none is a model below a loop of links or below a file", async () => {
	const folder = quickProject(temporaryFolder(), {
		"trtgate.yml": quickConfig.replace("onnx: model.onnx", "onnx: loop/model.onnx"),
	});
	symlinkSync("loop", join(folder, "loop"));
	const looped = await runCli(["run"], { cwd: folder });
	expectRefusal(looped, /loop\/model\.onnx.*loop of links \(ELOOP\).*\[path-unreadable\]/s);
	rmSync(join(folder, "loop"));
	writeFileSync(join(folder, "loop"), "a file");
	const below = await runCli(["run"], { cwd: folder });
	expectRefusal(below, /no model at .*loop\/model\.onnx.*\[model-missing\]/s);
});

it("too few files that may be open are the machine's fault, not a bug", async () => {
	const folder = quickProject(temporaryFolder());
	const seen: (number | null)[] = [];
	for (const most of [24, 28, 32]) {
		const { exit, stderr, stdout } = await runLimited(`-n ${most}`, ["run", "--out", "out"], folder);
		expect(stdout + stderr).not.toMatch(/bug of trtgate/);
		seen.push(exit);
	}
	expect(seen.filter((exit) => exit !== 0 && exit !== 3 && exit !== 134)).toEqual([]);
});

const secret = "root:x:0:0:hunter2";

function withSecret(): { workspace: string; outside: string } {
	const root = temporaryFolder();
	writeProject(root, { "secret.txt": secret, "ws/.git/HEAD": "ref: refs/heads/main\n" });
	return { workspace: quickProject(join(root, "ws")), outside: join(root, "secret.txt") };
}

function expectRefused(run: ActionRun | CliRun): void {
	const said = run.stdout + run.stderr;
	expect(said).toContain("[path-outside-workspace]");
	expect(said).not.toMatch(/root:x|hunter2/);
	expectExit(run, 2);
}

it.each([
	["the gate", "."],
	["plan/", "plan"],
	["golden/", "golden"],
])(
	"a config outside of the workspace is refused by %s before it is opened, as a path and as a link",
	async (_, action) => {
		const { workspace, outside } = withSecret();
		const env = {
			GITHUB_REPOSITORY: "acme/engines",
			GITHUB_EVENT_NAME: "workflow_dispatch",
			GITHUB_SHA: "1".repeat(40),
			GITHUB_EVENT_PATH: join(workspace, "event.json"),
			GITHUB_REF: "refs/heads/main",
			XDG_CACHE_HOME: join(workspace, ".cache"),
		};
		writeFileSync(env.GITHUB_EVENT_PATH, "{}");
		const run = (config: string) =>
			runActionFolder(action, {
				cwd: workspace,
				env,
				inputs: { config, ...(action === "golden" ? { reason: "x" } : {}) },
			});
		expectRefused(await run("../secret.txt"));
		expectRefused(await run(outside));
		symlinkSync(outside, join(workspace, "link.yml"));
		expectRefused(await run("link.yml"));
	},
);

it.each([
	["run", ["run"]],
	["golden record", ["golden", "record", "--model", "net"]],
	["golden check", ["golden", "check", "golden/golden.json", "--outputs", "."]],
])(
	"a config outside of the workspace is refused by `%s` if a link of the repository leads there",
	async (_, argv) => {
		const { workspace, outside } = withSecret();
		symlinkSync(outside, join(workspace, "link.yml"));
		symlinkSync(dirname(outside), join(workspace, "folder"));
		for (const config of ["link.yml", "folder/secret.txt"])
			expectRefused(await runCli([...argv, "--config", config], { cwd: workspace }));
	},
);

it("a config outside of the workspace may be named by a person, and is then read like any config", async () => {
	const { workspace } = withSecret();
	const elsewhere = quickProject(temporaryFolder());
	const run = await runCli(["run", "--config", join(elsewhere, "trtgate.yml"), "--dry-run"], {
		cwd: workspace,
	});
	expectExit(run, 0);
});

it("a config outside of the workspace that is text and no mapping is not quoted", async () => {
	const { outside } = withSecret();
	for (const text of [secret, `- ${secret}\n`, `"${secret}" x`, `{ ${secret}`]) {
		writeFileSync(outside, text);
		const run = await runCli(["run", "--config", outside], { cwd: dirname(outside) });
		expect([run.exit, run.stderr]).toEqual([2, expect.not.stringContaining("hunter2")]);
	}
});

it.each([
	["golden inspect", ["golden", "inspect", "secret.json"]],
	["verdict", ["verdict", "secret.json"]],
	["report", ["report", "."]],
	["golden check", ["golden", "check", "secret.json", "--outputs", "."]],
])("a config outside of the workspace and text that is no JSON is not quoted by `%s`", async (_, argv) => {
	const folder = temporaryFolder();
	for (const text of [secret, `"${secret}"`, `["${secret}"]`, `{"a": ${secret}}`]) {
		for (const name of ["secret.json", "result.json"]) writeFileSync(join(folder, name), text);
		const run = await runCli(argv, { cwd: folder });
		expect([run.exit, run.stderr]).toEqual([2, expect.not.stringMatching(/hunter2|root:x/)]);
	}
});

it("the second signal ends a process that waits for a file for ever", async () => {
	const folder = temporaryFolder();
	execFileSync("mkfifo", [join(folder, "pipe")]);
	writeProject(folder, {
		"wait.mjs": `import { readFile } from "node:fs/promises";
import { stopOnSignals } from ${JSON.stringify(resolve("src/app/terminal.ts"))};
stopOnSignals(() => process.stdout.write("asked "));
process.once("exit", () => process.stdout.write("tidied"));
process.stderr.write("listening");
void readFile("pipe");
`,
	});
	const waiting = spawn(process.execPath, ["wait.mjs"], {
		cwd: folder,
		stdio: ["ignore", "pipe", "pipe"],
	});
	const ended = outputOf(waiting);
	onTestFinished(() => void waiting.kill("SIGKILL"));
	waiting.stderr.once("data", () => waiting.kill("SIGTERM"));
	waiting.stdout.once("data", () => waiting.kill("SIGTERM"));
	expect(await ended).toMatchObject({ signal: "SIGTERM", stdout: "asked tidied" });
});

const preload =
	'Object.defineProperty(process.versions, "node", { value: "18.20.8" }); delete Array.prototype.toSpliced;';

it.each(["cli", "main", "plan", "report", "golden", "post"])(
	"an old Node is named by dist/%s.js, first thing",
	async (entryPoint) => {
		const folder = writeProject(temporaryFolder(), { "old.mjs": preload });
		const run = await runNode(["--import", join(folder, "old.mjs"), resolve(`dist/${entryPoint}.js`)], {
			cwd: folder,
		});
		expectRefusal(run, /^runner: trtgate needs Node 20 or later.*18\.20\.8.*\[node-too-old\]\n {2}→ /, 3);
	},
);

it.each(["cli", "main", "plan", "report", "golden", "post"])(
	"an old Node fails at nothing before that: dist/%s.js loads the check alone",
	(entryPoint) => {
		const importsOf = (path: string) =>
			[...readFileSync(path, "utf8").matchAll(/(?:from|import)"([^"]+)"/g)].map((match) => match[1]);
		const loaded = importsOf(`dist/${entryPoint}.js`);
		expect(loaded).toContain("./chunks/app-entry.js");
		expect(loaded.flatMap((path) => importsOf(`dist/${path}`))).toEqual([]);
	},
);

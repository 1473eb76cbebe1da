import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type ActionOptions, type ActionRun, runActionFolder } from "./action-runner.ts";
import { temporaryFolder, writeProject } from "./project.ts";
import { applyStepLimits, parseCommandFile, parseWorkflowCommands } from "./workflow-commands.ts";

const action = `name: probe
inputs:
  token: { default: "\${{ github.token }}" }
  out: { default: out }
  some name: { description: none }
runs: { using: node24, main: dist/main.js, post: dist/post.js }
`;

async function runProbe(
	main: string,
	more: Partial<ActionOptions> & { postProgram?: string } = {},
): Promise<ActionRun> {
	const folder = temporaryFolder();
	const dist = {
		"dist/main.js": `import * as fs from "node:fs";\n${main}`,
		"dist/post.js": more.postProgram ?? "",
	};
	writeProject(folder, { "action.yml": action, "package.json": '{"type":"module"}', ...dist });
	const cwd = join(folder, "workspace");
	mkdirSync(cwd);
	return runActionFolder(folder, {
		env: { GITHUB_TOKEN: "ghs_secret" },
		cwd,
		dist: join(folder, "dist"),
		...more,
	});
}

const set = (file: string, text: string): string =>
	`fs.appendFileSync(process.env.${file}, ${JSON.stringify(text)});`;

it("an action folder gets its inputs with defaults and the job's token, and nothing of our environment but PATH and the cache of compiled code", async () => {
	process.env["TRTGATE_SECRET_OF_OURS"] = "1";
	const run = await runProbe("console.log(JSON.stringify(process.env))", { inputs: { "some name": "x" } });
	delete process.env["TRTGATE_SECRET_OF_OURS"];
	const env = JSON.parse(run.stdout);
	expect(env).toMatchObject({
		INPUT_TOKEN: "ghs_secret",
		INPUT_OUT: "out",
		INPUT_SOME_NAME: "x",
		GITHUB_ACTIONS: "true",
		CI: "true",
	});
	expect(Object.keys(env)).not.toContain("GITHUB_TOKEN");
	expect(
		Object.keys(env).filter((name) => !/^(INPUT_|GITHUB_|CI$|NODE_COMPILE_CACHE$|PATH$|HOME$)/.test(name)),
	).toEqual([]);
});

it("an action folder is refused an input that action.yml does not name", async () => {
	await expect(runProbe("", { inputs: { tokn: "x" } })).rejects.toThrow(
		/no input tokn; it has token, out, some name/,
	);
});

it("an action folder hands back outputs, state, summary, annotations, masks and its end; post sees state and environment", async () => {
	const program = [
		set("GITHUB_OUTPUT", "outcome<<D\nfail\nline two\nD\nplain=1\n"),
		set("GITHUB_STATE", "out=/kept\n"),
		set("GITHUB_ENV", "EXPORTED=yes\n"),
		set("GITHUB_STEP_SUMMARY", "# Report"),
		'console.log("::error title=Slower%2C much,file=trtgate.yml,line=3,col=5::25%25%0Aof it");',
		'console.log("::add-mask::hidden");',
		"process.exitCode = 1;",
	].join("\n");
	const postProgram =
		"console.log(process.env.STATE_out, process.env.EXPORTED, process.env.INPUT_OUT); process.exitCode = 3;";
	const run = await runProbe(program, { post: true, postProgram });
	expect(run).toMatchObject({
		exitCode: 1,
		signal: null,
		outputs: { outcome: "fail\nline two", plain: "1" },
		state: { out: "/kept" },
	});
	expect(run.summary).toBe("# Report");
	const place = { level: "error", title: "Slower, much", file: "trtgate.yml", line: 3, column: 5 };
	expect(run.annotations).toEqual([{ ...place, message: "25%\nof it" }]);
	expect(run.masks).toEqual(["hidden"]);
	expect(run.post).toMatchObject({ exitCode: 3, stdout: "/kept yes out\n" });
});

it("an action folder loses a summary over 1 MiB whole", async () => {
	const run = await runProbe(
		'fs.writeFileSync(process.env.GITHUB_STEP_SUMMARY, "x".repeat(1024 * 1024 + 1));',
	);
	expect(run.summary).toBe("");
	expect(run.annotations).toEqual([{ level: "error", message: expect.stringMatching(/upload aborted/) }]);
	expect(
		(await runProbe('fs.writeFileSync(process.env.GITHUB_STEP_SUMMARY, "x".repeat(1024 * 1024));')).summary,
	).toHaveLength(1024 * 1024);
});

it("an action folder reports the signal that ended it", async () => {
	expect(await runProbe('process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 1000);')).toMatchObject({
		signal: "SIGTERM",
	});
});

it("workflow commands are not read between stop-commands and its token", () => {
	const text = "::stop-commands::pause\n::error::no\n::pause::\n::warning::yes\nnot ::error::this\n";
	expect(parseWorkflowCommands(text).annotations).toEqual([{ level: "warning", message: "yes" }]);
});

it("workflow commands show ten annotations of a level", () => {
	const many = Array.from({ length: 12 }, (_, index) => ({
		level: "notice" as const,
		message: String(index),
	}));
	const shown = applyStepLimits([...many, { level: "error", message: "e" }], "").annotations;
	expect(shown.map(({ message }) => message)).toEqual([..."0123456789", "e"]);
});

it("workflow commands of a file that lacks its delimiter are an error, as in the runner", () => {
	expect(() => parseCommandFile("a<<END\nvalue\n")).toThrow(/no line END/);
	expect(() => parseCommandFile("nonsense\n")).toThrow(/neither/);
});

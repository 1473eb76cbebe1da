// The GitLab example, run by gitlab-ci-local, which validates it by the schema that GitLab publishes. The job's image and runner
// are this machine.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { commitAll, git } from "../support/git-history.ts";
import { type Asked, startGitea } from "../support/gitea.ts";
import {
	expectExit,
	quickProject,
	readResult,
	runNode,
	temporaryFolder,
	writeScript,
} from "../support/project.ts";

const example = "workflows-examples/gitlab/.gitlab-ci.yml";
const runner = createRequire(import.meta.url).resolve("gitlab-ci-local");
const notes = "/projects/3/merge_requests/7/notes";

function openProject(): { folder: string; base: string; head: string } {
	const folder = temporaryFolder();
	git(folder, "init", "-q", "-b", "main");
	git(folder, "remote", "add", "origin", "git@gitlab.invalid:acme/engines.git");
	quickProject(folder, { ".gitignore": ".gitlab-ci-local/\n.locks/\ntrtgate-out/\n" });
	cpSync(example, join(folder, ".gitlab-ci.yml"));
	const base = commitAll(folder);
	git(folder, "switch", "-q", "--create", "change");
	quickProject(folder, { "model.onnx": "fixture:wrong.onnx" });
	return { folder, base, head: commitAll(folder) };
}

/** The image has git and Node.js; npm would install the package. */
function programs(): string {
	const folder = temporaryFolder();
	writeScript(join(folder, "npx"), `shift; exec "${process.execPath}" "${resolve("dist/cli.js")}" "$@"`);
	for (const name of ["npm", "git-lfs", "rsync"]) writeScript(join(folder, name), "exit 0");
	writeScript(join(folder, "node"), `exec "${process.execPath}" "$@"`);
	return folder;
}

/** The runner itself says that it is not GitLab. */
const gitlab = { GITLAB_CI: "true" };

function runPipeline(cwd: string, variables: Readonly<Record<string, string>>, job = ["engines"]) {
	const given = Object.entries({ ...gitlab, ...variables });
	const argv = [
		...[runner, ...job, "--force-shell-executor", "--no-artifacts-to-source"],
		...given.flatMap(([name, value]) => ["--variable", `${name}=${value}`]),
		...["--ignore-predefined-vars", given.map(([name]) => name).join(",")],
	];
	return runNode(argv, { cwd, env: { PATH: `${programs()}:${process.env["PATH"]}` } });
}

it("the GitLab example finds its base, fails on wrong outputs, keeps one note, and leaves the reports that it names", async () => {
	const { folder, base, head } = openProject();
	const posted: Asked[] = [];
	const replies: Parameters<typeof startGitea>[0] = {
		"GET /user": [200, { username: "project_3_bot" }],
		[`GET ${notes}`]: [200, []],
		[`POST ${notes}`]: (asked) => {
			posted.push(asked);
			return [201, { id: 9, body: asked.body["body"], author: { username: "project_3_bot" } }];
		},
	};
	const { url } = await startGitea(replies, onTestFinished);
	const variables = {
		...{ CI_PIPELINE_SOURCE: "merge_request_event", CI_COMMIT_SHA: head, CI_MERGE_REQUEST_IID: "7" },
		...{ CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main", CI_MERGE_REQUEST_DIFF_BASE_SHA: base },
		...{ CI_MERGE_REQUEST_PROJECT_ID: "3", CI_MERGE_REQUEST_SOURCE_PROJECT_ID: "3" },
		...{ CI_API_V4_URL: url, TRTGATE_GITLAB_TOKEN: "glpat-test" },
	};
	const run = await runPipeline(folder, variables);
	expectExit(run, 1);
	expect(run.stderr).toContain("json schema validated");
	const result = readResult(join(folder, "trtgate-out"));
	expect(result).toMatchObject({ outcome: "fail", arms: { base: { commit: base }, head: { commit: head } } });
	expect(posted).toMatchObject([{ body: { body: expect.stringContaining("## ❌ ") } }]);
	const { reports } = parse(readFileSync(example, "utf8")).engines.artifacts;
	expect(Object.keys(reports)).toEqual(["junit", "codequality", "metrics"]);
	for (const path of Object.values<string>(reports))
		expect(readFileSync(join(folder, path), "utf8"), path).toMatch(/net|\[\]/);
	// The next job fails before it writes anything: what this one left is no result of its commit.
	const env = { PATH: `${process.env["PATH"]}`, ...gitlab, ...variables, CI_COMMIT_SHA: "e".repeat(40) };
	const late = await runNode([resolve("dist/cli.js"), "note", "trtgate-out"], { cwd: folder, env });
	expectExit(late, 2);
	expect(late.stderr).toContain(`The result is of commit ${head.slice(0, 7)}; expected eeeeeee`);
	expect(posted).toHaveLength(1);
});

it("the GitLab example would not pass its schema with a key that GitLab does not know", async () => {
	const { folder } = openProject();
	const path = join(folder, ".gitlab-ci.yml");
	writeFileSync(path, readFileSync(path, "utf8").replace("codequality:", "code-quality:"));
	const run = await runPipeline(folder, {}, ["--list"]);
	expect(run.stdout + run.stderr).toMatch(/Invalid .gitlab-ci.yml configuration![\s\S]*'code-quality'/);
	expect(run.exit).not.toBe(0);
});

// One pull request on a real Gitea: it passes, a push breaks its outputs, and another mends them.
import { cpSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commitAll, git } from "../support/git-history.ts";
import { quickProject, temporaryFolder, untimed, writeProject } from "../support/project.ts";
import { type Gitea, startGitea, until } from "./server.ts";

const [gitea = "", runner = ""] = [process.env["GITEA"], process.env["GITEA_RUNNER"]];
const isThere = existsSync(gitea) && existsSync(runner);
if (!isThere) console.warn("Skipped: GITEA and GITEA_RUNNER name no binaries of Gitea and its runner.");

const workflow = (url: string): string => `on:
  pull_request:
jobs:
  gate:
    runs-on: ubuntu-latest
    permissions:
      contents: write # the commit status
      pull-requests: write
      issues: write
    steps:
      - run: |
          git init -q .
          git remote add origin "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY"
          git fetch -q origin "$GITHUB_REF" main
          git checkout -q "$GITHUB_SHA"
      - uses: ${url}/acme/trtgate@v0.1.0
        with:
          issue: true
  report:
    needs: gate
    if: \${{ !cancelled() }}
    runs-on: ubuntu-latest
    permissions:
      contents: read
    steps:
      - uses: ${url}/acme/trtgate/report@v0.1.0
        with:
          comment: never
          check-run: false
          artifact: trtgate
`;

async function addRepository(server: Gitea, name: string, folder: string): Promise<void> {
	await server.api("POST", "/user/repos", { name, default_branch: "main" });
	git(folder, "remote", "add", "origin", server.pushUrl(`acme/${name}`));
}

async function addAction(server: Gitea): Promise<void> {
	const folder = temporaryFolder();
	git(folder, "init", "-q", "-b", "main");
	for (const name of ["action.yml", "report", "package.json", "dist"])
		cpSync(name, join(folder, name), { recursive: true });
	commitAll(folder);
	git(folder, "tag", "v0.1.0");
	await addRepository(server, "trtgate", folder);
	git(folder, "push", "-q", "origin", "main", "v0.1.0");
}

interface Run {
	id: number;
	status: string;
	conclusion?: string;
	head_sha: string;
}

interface Comment {
	id: number;
	body: string;
}

const repository = "/repos/acme/engines";

async function finished(server: Gitea, sha: string): Promise<Run> {
	let run: Run | undefined;
	await until(`the run of ${sha} ends`, async () => {
		const listed = await server.api<{ workflow_runs?: Run[] }>("GET", `${repository}/actions/runs`);
		run = listed.workflow_runs?.find((one) => one.head_sha === sha);
		return run?.status === "completed" || run?.conclusion !== undefined;
	});
	if (run === undefined) throw new Error("no run");
	return run;
}

it.skipIf(!isThere)(
	"one pull request on a real Gitea: comment, commit status, artifacts and alarm follow each push",
	async () => {
		const server = await startGitea({ gitea, runner });
		await addAction(server);
		const folder = temporaryFolder();
		git(folder, "init", "-q", "-b", "main");
		quickProject(folder, {
			"trtgate.yml": untimed(),
			".gitea/workflows/gate.yml": workflow(server.url),
		});
		commitAll(folder);
		await addRepository(server, "engines", folder);
		git(folder, "push", "-q", "origin", "main");
		git(folder, "switch", "-q", "--create", "change");

		const push = async (change: () => void): Promise<{ sha: string; run: Run }> => {
			change();
			const sha = commitAll(folder);
			git(folder, "push", "-q", "origin", "change");
			const pulls = await server.api<unknown[]>("GET", `${repository}/pulls`);
			if (pulls.length === 0)
				await server.api("POST", `${repository}/pulls`, { title: "Faster", head: "change", base: "main" });
			return { sha, run: await finished(server, sha) };
		};
		const shown = async (sha: string) => {
			const comments = await server.api<Comment[]>("GET", `${repository}/issues/1/comments`);
			const statuses = await server.api<{ context: string; status: string; id: number }[]>(
				"GET",
				`${repository}/commits/${sha}/statuses`,
			);
			const own = statuses.filter(({ context }) => context === "trtgate").sort((a, b) => b.id - a.id);
			const issues = await server.api<{ labels: { name: string }[] }[]>(
				"GET",
				`${repository}/issues?state=open&type=issues`,
			);
			return { comments, status: own[0]?.status, issues };
		};

		const first = await push(() =>
			writeFileSync(join(folder, "README.md"), "A change that no engine sees.\n"),
		);
		const passed = await shown(first.sha);
		expect(first.run.conclusion, server.runnerLog()).toBe("success");
		expect(passed).toMatchObject({
			comments: [{ body: expect.stringContaining("## ✅ ") }],
			status: "success",
			issues: [],
		});
		const links = [...(passed.comments[0]?.body ?? "").matchAll(/http:\/\/[^\s)]*\/artifacts\/[^\s)]*/g)];
		const types = links.map(async ([link]) => {
			const { status, headers } = await server.get(link);
			return [link.split("/").at(-1), status, headers.get("content-type")];
		});
		expect(await Promise.all(types)).toEqual([
			["report-gate.html", 200, "text/html"],
			["trtgate-gate", 200, "application/zip"],
		]);

		const second = await push(() => writeProject(folder, { "model.onnx": "fixture:wrong.onnx" }));
		expect(second.run.conclusion).toBe("failure");
		expect(await shown(second.sha)).toMatchObject({
			comments: [{ id: passed.comments[0]?.id, body: expect.stringContaining("## ❌ ") }],
			status: "failure",
			issues: [{ labels: [{ name: "trtgate" }] }],
		});

		const third = await push(() => writeProject(folder, { "model.onnx": "fixture:model.onnx" }));
		expect(third.run.conclusion, "the gate, and the report that reads its artifact").toBe("success");
		expect(await shown(third.sha)).toMatchObject({
			comments: [{ id: passed.comments[0]?.id, body: expect.stringContaining("## ✅ ") }],
			status: "success",
			issues: [],
		});
	},
);

// The artifact service under the toolkit's real client.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../project.ts";
import { runToolkit } from "./run-toolkit.ts";
import { type LocalGitHub, startLocalGitHub } from "./start.ts";

const sha = "a".repeat(40);

async function startJob(more: object = {}): Promise<{ github: LocalGitHub; workspace: string; env: Record<string, string> }> {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const workspace = temporaryFolder();
	const env = await github.environment({
		event: "push",
		payload: {},
		workspace,
		temp: join(workspace, ".temp"),
		sha,
		ref: "refs/heads/main",
		...more,
	});
	return { github, workspace, env };
}

describe("the artifact service", () => {
	it("takes, lists, gives back and deletes what the toolkit uploads", async () => {
		const { github, workspace, env } = await startJob();
		writeFileSync(join(workspace, "result.json"), '{"outcome":"pass"}');
		const upload = [join(workspace, "result.json")];
		const { results } = await runToolkit(env, [
			{ kind: "artifact", method: "uploadArtifact", args: ["trtgate-a", upload, workspace] },
			{ kind: "artifact", method: "uploadArtifact", args: ["trtgate-a", upload, workspace] },
			{ kind: "artifact", method: "listArtifacts", args: [] },
			{ kind: "artifact", method: "getArtifact", args: ["trtgate-a"] },
		]);
		const [first, second, list] = results;
		expect(first?.value).toMatchObject({ digest: github.state.artifacts[0]?.digest?.slice("sha256:".length) });
		expect(second?.error?.message).toMatch(/409.*already exists/);
		expect(list?.value.artifacts).toMatchObject([{ name: "trtgate-a", id: first?.value.id }]);
		const out = join(workspace, "out");
		const expectedHash = github.state.artifacts[0]?.digest;
		const again = await runToolkit(env, [
			{ kind: "artifact", method: "downloadArtifact", args: [first?.value.id, { path: out, expectedHash }] },
			{ kind: "artifact", method: "deleteArtifact", args: ["trtgate-a"] },
		]);
		expect(again.results[0]?.value).toMatchObject({ downloadPath: out, digestMismatch: false });
		expect(readFileSync(join(out, "result.json"), "utf8")).toBe('{"outcome":"pass"}');
		expect(again.results[1]?.value).toEqual({ id: first?.value.id });
		expect(github.state.artifacts).toEqual([]);
		expect(github.state.violations).toEqual([]);
	});
});

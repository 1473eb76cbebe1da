// The artifact service under the toolkit's real client.
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startPush } from "./push-job.ts";
import { runToolkit } from "./run-toolkit.ts";

const sha = "a".repeat(40);

it("the artifact service takes, lists, gives back and deletes what the toolkit uploads", async () => {
	const { github, workspace, env } = await startPush();
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

it("the artifact service keeps many blocks in their order, and one file as it is", async () => {
	const { github, workspace, env } = await startPush();
	// Over one block of 8 MiB; the client sends blocks side by side.
	const large = randomBytes(9 * 1024 * 1024);
	writeFileSync(join(workspace, "trace.nsys-rep"), large);
	const raw = { skipArchive: true };
	const { results } = await runToolkit(env, [
		{
			kind: "artifact",
			method: "uploadArtifact",
			args: ["large", [join(workspace, "trace.nsys-rep")], workspace, { compressionLevel: 0 }],
		},
		{
			kind: "artifact",
			method: "uploadArtifact",
			args: ["ignored", [join(workspace, "trace.nsys-rep")], workspace, raw],
		},
	]);
	expect(
		github.state.requests.filter(({ path }) => path.includes("comp=block&")).length,
	).toBeGreaterThanOrEqual(4);
	const [zip, single] = results.map((result) => Number(result.value.id));
	await runToolkit(env, [
		{ kind: "artifact", method: "downloadArtifact", args: [zip, { path: join(workspace, "zip") }] },
		{ kind: "artifact", method: "downloadArtifact", args: [single, { path: join(workspace, "single") }] },
	]);
	expect(readFileSync(join(workspace, "zip", "trace.nsys-rep")).equals(large)).toBe(true);
	expect(readFileSync(join(workspace, "single", "trace.nsys-rep")).equals(large)).toBe(true);
});

it("the artifact service lets another run reach the artifacts through REST, if its token may read actions", async () => {
	const { github, workspace, env } = await startPush({ runId: 41 });
	writeFileSync(join(workspace, "a.txt"), "a");
	const names = ["trtgate-a", "trtgate-b", "logs"];
	await runToolkit(
		env,
		names.map((name) => ({
			kind: "artifact",
			method: "uploadArtifact",
			args: [name, [join(workspace, "a.txt")], workspace],
		})),
	);
	const later = {
		event: "workflow_run",
		payload: { workflow_run: { id: 41, head_sha: sha } },
		ref: "refs/heads/main",
		sha,
	} as const;
	github.addArtifact({ runId: 41, name: "seeded", archive: Buffer.from("PK") });
	const read = async (permissions: Record<string, "read">) => {
		const other = await github.environment({
			...later,
			workspace,
			temp: join(workspace, ".temp"),
			permissions,
		});
		const findBy = {
			token: other["GITHUB_TOKEN"],
			workflowRunId: 41,
			repositoryOwner: "acme",
			repositoryName: "engines",
		};
		const list = { kind: "artifact" as const, method: "listArtifacts", args: [{ findBy }] };
		const id = github.state.artifacts.find(({ name }) => name === "trtgate-b")?.id;
		return runToolkit(other, [
			list,
			{ kind: "artifact", method: "downloadArtifact", args: [id, { findBy, path: join(workspace, "b") }] },
		]);
	};
	const { results } = await read({ actions: "read" });
	expect(results[0]?.value.artifacts.map(({ name }: { name: string }) => name).sort()).toEqual(
		[...names, "seeded"].sort(),
	);
	expect(readFileSync(join(workspace, "b", "a.txt"), "utf8")).toBe("a");
	const refused = await read({});
	expect(refused.results[0]?.error).toMatchObject({
		status: 403,
		headers: { "x-accepted-github-permissions": "actions=read" },
	});
	expect(github.state.violations).toEqual([]);
});

it("the artifact service takes a name again in the next attempt of a run, and lists both", async () => {
	const { github, workspace, env } = await startPush({ runId: 41 });
	writeFileSync(join(workspace, "a.txt"), "a");
	const upload = {
		kind: "artifact" as const,
		method: "uploadArtifact",
		args: ["a", [join(workspace, "a.txt")], workspace],
	};
	await runToolkit(env, [upload]);
	const job = {
		event: "push",
		payload: {},
		ref: "refs/heads/main",
		sha,
		workspace,
		temp: join(workspace, ".temp"),
	} as const;
	const again = await github.environment({ ...job, runId: 41, runAttempt: 2 });
	const { results } = await runToolkit(again, [
		upload,
		{ kind: "artifact", method: "listArtifacts", args: [{ latest: true }] },
	]);
	expect(results[1]?.value.artifacts).toMatchObject([{ id: results[0]?.value.id }]);
	expect(github.state.artifacts.map(({ attempt }) => attempt)).toEqual([1, 2]);
	const { results: stranger } = await runToolkit(
		{ ...again, ACTIONS_RUNTIME_TOKEN: (again["ACTIONS_RUNTIME_TOKEN"] ?? "").replace(/[^.]+$/, "x") },
		[upload],
	);
	expect(stranger[0]?.error?.message).toMatch(/401/);
});

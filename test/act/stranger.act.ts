// A stranger's pull request, once a maintainer has approved its run: it brings its own workflow, labels and config.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { quickConfig, quickProject, temporaryFolder } from "../support/project.ts";
import { makeRepository } from "./run-act.ts";
import { change, good, localGitHub, pullPayload, resultsOf, runPull, test } from "./scenario.ts";

const stranger = "stranger/engines";

function edited(text: string): string {
	const freed = text
		.replace(/^ +if: .*head\.repo.*\n/gm, "")
		.replace(/runs-on: \[self-hosted, gpu\]/g, "runs-on: [self-hosted, release]");
	expect(freed).not.toContain("head.repo");
	return freed.replace(/^permissions: \{\}$/m, "permissions: write-all");
}

test("runs its code, and neither its workflow nor its config gives it a right, a secret or a trace in GitHub", async () => {
	const leak = join(temporaryFolder(), "leak");
	const config = quickConfig
		.replace(
			"    onnx: model.onnx",
			"    onnx: made.onnx\n    prepare: { command: sh steal.sh, env: [GITHUB_TOKEN] }",
		)
		.replace("workloads: [{ batch: 2 }]", "workloads: []");
	const steal = (folder: string): void => {
		writeFileSync(join(folder, "trtgate.yml"), config);
		writeFileSync(
			join(folder, "steal.sh"),
			`env >> ${leak}\ncat .git/config >> ${leak} 2>/dev/null\ncp model.onnx made.onnx\n`,
		);
	};
	const repository = makeRepository([good, steal], change);
	const github = await localGitHub();
	const { run } = await runPull("pull-request.yml", repository, {
		...{ payload: pullPayload(repository, stranger), isFork: true, edit: edited, github },
	});
	expect(resultsOf(run), run.log).toHaveProperty("gate");
	expect(existsSync(leak), run.log).toBe(true);
	expect(readFileSync(leak, "utf8")).not.toMatch(
		/ghs_|GITHUB_TOKEN=|INPUT_TOKEN=|ACTIONS_RUNTIME_TOKEN=|authorization/i,
	);
	const { comments, checkRuns, requests } = github.state;
	expect({ comments, checkRuns }).toEqual({ comments: [], checkRuns: [] });
	expect(
		requests.filter(({ method, path }) => method !== "GET" && !/\/twirp\/.*Artifact|\/blobs\//.test(path)),
	).toEqual([]);
});

test("cannot send its config to a machine that the base does not name", async () => {
	const runners =
		(labels: string) =>
		(folder: string): void => {
			quickProject(folder);
			writeFileSync(
				join(folder, "trtgate.yml"),
				`${quickConfig}runners:\n  - { name: l4, labels: ${labels} }\n`,
			);
		};
	const repository = makeRepository(
		[runners("[self-hosted, gpu]"), runners("[self-hosted, release]")],
		change,
	);
	const { run, github } = await runPull("matrix.yml", repository, {
		...{ payload: pullPayload(repository, stranger), isFork: true, edit: edited },
	});
	expect(resultsOf(run), run.log).toMatchObject({ plan: ["success"] });
	expect(run.log).toContain('l4: all engines on ["self-hosted","gpu"]');
	expect(run.log).not.toContain('all engines on ["self-hosted","release"]');
	expect(github.state.comments).toEqual([]);
});

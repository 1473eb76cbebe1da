import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import type { ActionRun } from "../support/action-runner.ts";
import { pullRequest, repository, workflowDispatch } from "../support/event-payloads.ts";
import { git } from "../support/git-history.ts";
import { openPlay, type Play, type PlayedJob } from "../support/github-play.ts";
import { expectExit, quickConfig, quickFiles } from "../support/project.ts";

const ref = "refs/heads/trtgate/goldens";

const main = "refs/heads/main";

interface Place extends Pick<Play, "github" | "origin"> {
	at(ref: string): string;
	changes(from: string, to: string): string[];
	run(inputs: Record<string, string>, more?: Partial<PlayedJob>): Promise<ActionRun & { workspace: string }>;
}

async function openPlace(files: Readonly<Record<string, string>> = {}): Promise<Place> {
	const play = await openPlay();
	const { github, origin } = play;
	play.commit({ ...quickFiles, "model.onnx": "fixture:wrong.onnx", ...files }, { ref: main });
	const at = (name: string): string => git(origin, "for-each-ref", "--format=%(objectname)", name);
	return {
		...{ github, origin, at },
		changes: (from, to) => git(origin, "diff", "--no-renames", "--name-status", from, to).split("\n"),
		async run(inputs, more = {}) {
			const { run, workspace } = await play.run({
				...{ event: "workflow_dispatch", payload: workflowDispatch(main), sha: at(main), ref: main },
				action: "golden",
				inputs: { reason: "The head was retrained.", cases: "2", onnxruntime: "wasm", ...inputs },
				...more,
			});
			return { ...run, workspace };
		},
	};
}

const golden = (place: Place, commit: string) =>
	parseManifest(git(place.origin, "show", `${commit}:golden/golden.json`), "golden.json");
const written = ({ github }: Place) =>
	github.state.requests.filter(({ method, path }) => method !== "GET" && !path.startsWith("/twirp"));

it("a golden that changed becomes one commit and one pull request; the same again, nothing; the merged one, nothing", async () => {
	const place = await openPlace();
	const [main, { state }] = [place.at("refs/heads/main"), place.github];
	const first = await place.run({ model: "net", draft: "true" });
	expectExit(first, 0);
	const commit = place.at(ref);
	const number = state.pulls[0]?.number;
	expect(first.outputs).toEqual({
		...{ changed: "true", branch: "trtgate/goldens", commit, "failure-kind": "" },
		...{
			"pull-request": String(number),
			"pull-request-url": `https://github.com/acme/engines/pull/${number}`,
		},
	});
	expect(place.changes(main, commit)).toContain("M\tgolden/golden.json");
	expect(place.changes(main, commit).filter((line) => !line.includes("\tgolden/"))).toEqual([]);
	expect(git(place.origin, "show", "-s", "--format=%P", commit)).toBe(main);
	const manifest = golden(place, commit);
	expect(manifest).toMatchObject({
		reason: "The head was retrained.",
		author: "octocat",
		cases: { length: 4 },
	});
	// What was committed is what was recorded: the command line takes the checkout's golden for whole.
	const paths = manifest.cases.flatMap(({ inputs, outputs }) => [
		...Object.values(inputs),
		...Object.values(outputs),
	]);
	for (const { path } of paths)
		expect(git(place.origin, "rev-parse", `${commit}:golden/${path}`)).toBe(
			git(first.workspace, "hash-object", "--no-filters", `golden/${path}`),
		);
	const message = git(place.origin, "show", "-s", "--format=%B", commit);
	expect(message).toMatch(
		/^Record the golden of net again\n\nThe head was retrained\.\n\nnet: \S+@\S+\n\nReason given by octocat\. Models of [0-9a-f]{40}\./,
	);
	expect(message.split("\n").at(-1)).toBe("Trtgate-Goldens: trtgate/goldens");
	expect(state.pulls).toMatchObject([{ headRef: "trtgate/goldens", baseRef: "main", isDraft: true }]);
	expect(state.issues).toMatchObject([
		{
			title: "Record the golden of net again",
			body: expect.stringMatching(/^<!-- trtgate: goldens -->\n\nWhy: The head was retrained\. — octocat/),
		},
	]);
	expect(first.summary).toContain("## trtgate golden");
	expect(first.annotations).toMatchObject([
		{ level: "notice", message: expect.stringMatching(/^Pull request \d+ .* was opened/) },
	]);

	const again = await place.run({ model: "net" });
	expect(again.outputs, again.stdout).toMatchObject({ changed: "true", commit });
	expect(again.stdout).toMatch(/was left unchanged; its branch already had the recorded goldens/);
	expect([place.at(ref), state.pulls.length]).toEqual([commit, 1]);

	git(place.origin, "update-ref", "refs/heads/main", place.at(ref));
	const before = state.requests.length;
	const merged = await place.run({ reason: "Again." });
	expect(merged.outputs, merged.stdout).toMatchObject({
		changed: "false",
		"pull-request": "",
		commit: "",
		"failure-kind": "",
	});
	expect(merged.stdout).toMatch(/Nothing changed: \S+ is up to date/);
	expect(state.requests.slice(before)).toEqual([]);
	expect(state.violations).toEqual([]);
});

it("a pull request of a fork is refused before anything is recorded", async () => {
	const place = await openPlace();
	const shas = { head: "1".repeat(40), base: "2".repeat(40) };
	const payload = pullRequest(shas, { headRepository: repository("stranger/engines", 80_002) });
	const run = await place.run({}, { event: "pull_request", payload });
	expect([run.exitCode, run.outputs["failure-kind"]]).toEqual([2, "configuration"]);
	expect(run.annotations[0]).toMatchObject({
		title: "trtgate: proposal-refused",
		message: expect.stringContaining("a fork's"),
	});
	expect(run.stdout).not.toContain("Recorded");
	expect(written(place)).toEqual([]);
});

it("a job that is cancelled proposes nothing, and ends at once", async () => {
	const place = await openPlace();
	// It records as soon as it has a child.
	const cancel = (pid: number): void => {
		const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
		if (children === "") setTimeout(cancel, 20, pid);
		else process.kill(pid, "SIGINT");
	};
	const run = await place.run({ cases: "200" }, { more: { onStart: cancel } });
	expect([run.exitCode, run.signal], run.stdout + run.stderr).toEqual([3, null]);
	expect(run.annotations[0]).toMatchObject({
		title: "trtgate: interrupted",
		message: expect.stringMatching(/Nothing was proposed/),
	});
	expect(place.github.state.requests).toEqual([]);
});

it("a token without rights to write contents reports the lines to add, and keeps what was recorded in the workspace", async () => {
	const permissions = { contents: "read", "pull-requests": "write" } as const;
	const place = await openPlace();
	const run = await place.run({ "time-limit": "10ms" }, { permissions });
	expect([run.exitCode, run.outputs["failure-kind"], run.outputs["changed"]]).toEqual([3, "github", "true"]);
	expect(run.annotations[0]).toMatchObject({
		title: "trtgate: github-permission",
		message: expect.stringContaining("lacks `contents: write`"),
	});
	expect(run.annotations[0]?.message).toMatch(/`contents: write` .* `pull-requests: write`/);
	expect(run.summary).toContain("The recorded goldens are in the workspace");
	expect(git(run.workspace, "status", "--porcelain")).toContain("golden/golden.json");
});

it.each([
	["an empty reason", { reason: " " }, /Input reason is empty/],
	["a model that is not there", { model: "nett" }, /Did you mean "net"/],
])("inputs with %s are refused in words", async (_, inputs, says) => {
	const place = await openPlace();
	const run = await place.run(inputs);
	expectExit(run, 2);
	expect(run.annotations.map(({ message }) => message).join("\n")).toMatch(says);
	expect(written(place)).toEqual([]);
});

it("several models share a pull request; one that cannot be recorded keeps none of the others, and the run fails", async () => {
	const model = /^ {2}net:\n(?: {4}.*\n)+/m.exec(quickConfig)?.[0] ?? "";
	const named = (name: string, onnx: string): string =>
		model
			.replace("net:", `${name}:`)
			.replace("model.onnx", onnx)
			.replace("golden/golden.json", `golden/${name}/golden.json`);
	const models = `${named("a", "model.onnx")}${named("'::error::b @acme'", "none.onnx").replace(/golden\/.*\/golden/, "golden/b/golden")}`;
	const place = await openPlace({ "trtgate.yml": quickConfig.replace(model, models) });
	const run = await place.run({ "time-limit": "10ms" });
	expectExit(run, 2);
	expect(run.outputs).toMatchObject({ changed: "true", "failure-kind": "configuration" });
	expect(place.changes("refs/heads/main", ref)).toContain("A\tgolden/a/golden.json");
	const { body, title } = place.github.state.issues[0] ?? {};
	expect(title).toBe("Record the golden of a");
	expect(body).toMatch(/::\u200derror::b @\u200dacme was not recorded/);
	expect(run.annotations.filter(({ message }) => message.startsWith("b @acme"))).toEqual([]);
});

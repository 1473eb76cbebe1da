import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Result } from "../../generated/result.ts";
import type { MatrixJob } from "../../src/core/plan/matrix.ts";
import { pullJob } from "../support/event-payloads.ts";
import { openPlay, type Play } from "../support/github-play.ts";
import { expectExit, temporaryFolder } from "../support/project.ts";

const model = (name: string): string =>
	`  ${name}: { onnx: ${name}.onnx, dims: { batch: { min: 1, opt: 2, max: 4 } }, workloads: [], golden: golden/golden.json }\n`;
const bothRunners =
	"runners: [{ name: l4, labels: gpu-l4, engines: [first] }, { name: h200, labels: gpu-h200, engines: [second] }]\n";

interface Parts {
	models?: readonly string[];
	runners?: string;
	gates?: string;
}

function config({ models = ["first", "second"], runners = bothRunners, gates = "" }: Parts = {}): string {
	return `version: 1\nbackend: onnxruntime\nonnxruntime: wasm\nmodels:\n${models.map(model).join("")}${runners}${gates}`;
}

const files = (parts: Parts) => ({
	...Object.fromEntries(
		(parts.models ?? ["first", "second"]).map((name) => [`${name}.onnx`, "fixture:model.onnx"]),
	),
	"trtgate.yml": config(parts),
	golden: "fixture:golden",
});

interface Played {
	play: Play;
	exits: number[];
	jobs: MatrixJob[];
	result: Result;
	exit: number;
}

interface Host {
	inputs?: Record<string, string>;
	env?: Record<string, string>;
}

async function playMatrix(
	base: Parts,
	head: Parts,
	{ inputs: shared, env = {} }: Host = {},
): Promise<Played> {
	const play = await openPlay();
	const target = play.commit(files(base), { ref: "refs/heads/main" });
	const change = play.commit(files(head), { onto: target, ref: "refs/heads/feature" });
	const merge = play.merge({ base: target, head: change });
	const job = {
		...pullJob({ head: change, base: target, merge }, { headRef: "feature" }),
		...{ runId: 500, env },
	};
	const plan = await play.run({ ...job, action: "plan" });
	expectExit(plan.run, 0);
	const { matrix = "", review = "" } = plan.run.outputs;
	const jobs: MatrixJob[] = JSON.parse(matrix).include;
	const exits: number[] = [];
	for (const { name, only } of jobs) {
		const inputs = { name, only, comment: "never", "check-run": "false", ...shared };
		exits.push((await play.run({ ...job, inputs })).run.exitCode);
	}
	const report = await play.run({
		...job,
		action: "report",
		inputs: { expected: matrix, review, ...shared },
	});
	return { play, exits, jobs, result: report.result(), exit: report.run.exitCode };
}

const enterprise = { GITHUB_SERVER_URL: "https://github.acme.example" };

const coverageOf = ({ result }: Played) => result.gates.filter(({ gate }) => gate === "coverage");

it("a matrix whose change drops a model reports it once, and fails if the base's rules say so", async () => {
	const played = await playMatrix(
		{ gates: "gates: { coverage: fail }\n" },
		{ models: ["first"], gates: "gates: { coverage: off }\n" },
	);
	expect([played.exit, played.result.outcome]).toEqual([1, "fail"]);
	expect(coverageOf(played)).toMatchObject([{ status: "fail", model: "second", engine: "fp32" }]);
	const { state } = played.play.github;
	expect(state.checkRuns).toMatchObject([{ conclusion: "failure" }]);
	expect(state.comments[0]?.body).toContain("The base checks this engine; the head no longer does.");
});

it("a matrix whose change takes an engine off its runner still measures it there, and reports the change once; on GitHub Enterprise Server, which has no artifacts, its parts pass through a shared folder", async () => {
	const shared = temporaryFolder();
	const played = await playMatrix(
		{},
		{ runners: "runners: [{ name: l4, labels: gpu-l4, engines: [first] }]\n" },
		{ inputs: { parts: shared }, env: enterprise },
	);
	expect(played.jobs.map(({ name, only }) => [name, only])).toEqual([
		["l4", "first"],
		["h200", "second"],
	]);
	expect([played.exits, played.exit]).toEqual([[0, 0], 0]);
	expect(played.result.golden.map((verdict) => verdict.model)).toEqual(
		expect.arrayContaining(["first", "second"]),
	);
	const changes = played.result.gates.filter(({ gate }) => gate === "limit-change");
	expect(changes.map(({ message }) => message.split(":", 1)[0])).toEqual([
		"runners.h200.labels",
		"runners.h200.engines",
		"runners.h200.split",
	]);
	expect(played.result.parts?.map(({ name }) => name)).toEqual(["h200", "l4"]);
	const { comments, requests } = played.play.github.state;
	expect(comments).toMatchObject([{ body: expect.stringContaining("## ⚠️") }]);
	expect(requests.filter(({ path }) => path.includes("/twirp/"))).toEqual([]);
	expect(readdirSync(join(shared, "acme/engines/500"))).toEqual(
		expect.arrayContaining(["trtgate-h200", "trtgate-l4"]),
	);
});

it("a matrix whose change renames and adds engines measures them where the change puts them, and reports a loosened limit once, whatever the number of jobs", async () => {
	const changed = {
		models: ["first", "last", "third"],
		runners: bothRunners.replace("[second]", "[last, third]"),
		gates: "gates: { golden: { relative-l2: 10 } }\n",
	};
	const played = await playMatrix({ gates: "gates: { coverage: fail }\n" }, changed);
	expect(played.exits).toEqual([0, 0]);
	expect(played.jobs.map(({ name, only }) => [name, only])).toEqual([
		["l4", "first"],
		["h200", "last/fp32,third/fp32"],
	]);
	expect(played.result.recipeChanges).toMatchObject([{ model: "last", engine: "fp32", was: "second/fp32" }]);
	expect(coverageOf(played)).toEqual([]);
	expect(played.result.golden.filter((verdict) => verdict.model === "third")).toHaveLength(2);
	const limits = played.result.gates.filter(
		({ gate, status, message }) =>
			gate === "limit-change" && status === "warn" && /^gates.golden/.test(message),
	);
	expect(limits.map(({ message }) => message)).toEqual([
		expect.stringMatching(/^gates\.golden\.relative-l2\.fp32: 0\.001 → 10, in \d engines\./),
	]);
});

it("a matrix on GitHub Enterprise Server without such a folder is never green, and its message names the input", async () => {
	const play = await openPlay();
	const commit = play.commit(files({}), { ref: "refs/heads/main" });
	const job = {
		event: "push",
		ref: "refs/heads/main",
		sha: commit,
		payload: {},
		runId: 500,
		env: enterprise,
	};
	const expected = '[{ "name": "l4", "artifact": "trtgate-l4" }]';
	const { run } = await play.run({ ...job, action: "report", inputs: { expected } });
	expectExit(run, 3);
	expect(run.stdout).toContain("give the gate and the report the input `parts`");
});

it.each([
	["relative", () => "parts"],
	[
		"in the workspace, which a change controls",
		({ root }: Play) => `${root}/runner/engines/../engines/parts`,
	],
])("a shared folder that is %s is refused", async (_, parts) => {
	const play = await openPlay();
	const job = { event: "push", ref: "refs/heads/main", sha: "a".repeat(40), payload: {} };
	const { run } = await play.run({ ...job, action: "report", inputs: { parts: parts(play) } });
	expectExit(run, 2);
	expect(run.stdout).toContain("expected an absolute path outside the workspace");
});

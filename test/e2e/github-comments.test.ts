import { expect, it } from "vitest";
import type { GateResult, Result } from "../../generated/result.ts";
import { buildGate, buildResult, buildSlowWorkload } from "../support/build-result.ts";
import { expectExit } from "../support/project.ts";
import { openReportPlay, type ReportPlay, reportedBase, reportedHead } from "../support/report-play.ts";

const arms = { base: { label: "main", commit: reportedBase }, head: { label: "#7", commit: reportedHead } };
const failing: Result = buildResult({ outcome: "fail", gates: [buildGate({ status: "fail" })], arms });

async function open(result = failing): Promise<ReportPlay> {
	const play = await openReportPlay();
	play.measured(result, {});
	return play;
}

const shownComments = ({ github }: ReportPlay): string[] => github.state.comments.map(({ body }) => body);

it("comments of one pull request are one for each config and each name, and a second try of the jobs doubles none of them, nor a check run", async () => {
	const play = await openReportPlay();
	const reports: [string, Record<string, string>][] = [
		["trtgate-detectors-trtgate-gate", { config: "detectors/trtgate.yml" }],
		["trtgate-gate", { config: "trtgate.yml" }],
		["trtgate-orin", { name: "orin" }],
	];
	for (const attempt of [1, 2])
		for (const [name, inputs] of reports) {
			const config = { path: inputs["config"] ?? "trtgate.yml" };
			play.measured({ ...failing, config }, { name, part: inputs["name"], attempt });
			expect((await play.report({ inputs, runAttempt: attempt })).run.exitCode, JSON.stringify(inputs)).toBe(
				1,
			);
		}
	expect(
		shownComments(play).map((body) =>
			/^<!-- trtgate:(\S+) run:500 attempt:(\d) .*\n## (.*) · [0-9a-f]{7}:/.exec(body)?.slice(1),
		),
	).toEqual([
		["detectors%2Ftrtgate.yml", "2", "❌ TensorRT gate · detectors/trtgate.yml"],
		["trtgate.yml", "2", "❌ TensorRT gate"],
		["trtgate.yml%23orin", "2", "❌ TensorRT gate · orin"],
	]);
	const runs = play.github.state.checkRuns;
	expect(new Set(runs.map(({ externalId }) => externalId)).size).toBe(runs.length);
	expect(runs).toHaveLength(6);
	expect(play.github.state.violations).toEqual([]);
});

it("a long name of several lines is cut between characters, in one line, so that the check run is found", async () => {
	const play = await openReportPlay();
	const [name, part] = [`a\n${"x".repeat(97)}😀tail`, `a ${"x".repeat(97)}😀`];
	play.measured(failing, { name: `trtgate-a-${"x".repeat(97)}`, part });
	const { published } = await play.report({ inputs: { name } });
	expect(published().map(({ state }) => state)).toEqual(["done", "done", "done", "done"]);
	expect(play.github.state.checkRuns.map((run) => run.name)).toEqual([`trtgate (${part})`]);
});

const models = Array.from({ length: 500 }, (_, index) => `${"detector-with-a-long-name-".repeat(3)}${index}`);
const gates: GateResult[] = models.map((model) =>
	buildGate({ model, workload: "batch 8", status: "fail", location: { path: "trtgate.yml", line: 4 } }),
);
const large = buildResult({
	...{ outcome: "fail", gates, arms },
	workloads: models.map((model) => ({ ...buildSlowWorkload(), model })),
});

it("a report of 500 workloads fits into the comment and the check run, which report what they leave out; the job summary and report.html hold all rows", async () => {
	const play = await open(large);
	const { run, published } = await play.report();
	expectExit(run, 1);
	expect(published().map(({ state }) => state)).toEqual(["done", "done", "done", "done"]);
	const [body = ""] = shownComments(play);
	const [{ summary } = { summary: "" }] = play.github.state.checkRuns;
	for (const text of [body, summary ?? ""]) {
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536);
		expect(text).toMatch(/Shortened to fit a comment; left out: .*all but 60 rows/);
		expect(text).toContain("… and 432 more rows.");
		expect(text).toContain("slower (27.91 µs → 29.02 µs), and 499 more · 0 of 500 checks pass");
	}
	expect(run.summary).toContain("ector-with-a-long-name-399");
	expect(run.outputs).toMatchObject({
		failed: "500",
		"report-url": expect.stringContaining("/artifacts/"),
	});
	expect(play.github.state.violations).toEqual([]);
});

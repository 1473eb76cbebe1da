import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import type { Result } from "../../generated/result.ts";
import type { ActionRun } from "../support/action-runner.ts";
import { buildGate, buildResult } from "../support/build-result.ts";
import type { Fault } from "../support/local-github/start.ts";
import { openReportPlay, reportedBase, reportedHead } from "../support/report-play.ts";

const failing: Result = buildResult({
	outcome: "fail",
	gates: [buildGate({ status: "fail", location: { path: "trtgate.yml", line: 4 } })],
	arms: { base: { label: "main", commit: reportedBase }, head: { label: "#7", commit: reportedHead } },
});

const always = Number.POSITIVE_INFINITY;
const rest = /^\/(repos|graphql)/;
const comments = /\/issues\/7\/comments/;
const checkRuns = /\/check-runs/;
const artifacts = /ArtifactService\/CreateArtifact/;
const refused = { message: "Resource not accessible by integration" };
const html = "<!DOCTYPE html><title>Unicorn!</title>";

interface Row {
	faults: readonly Fault[];
	/** Codes of what could not be published, by what. */
	lost?: Readonly<Record<string, string>>;
	says?: string;
}

const commentAndCheck = (code: string): Record<string, string> => ({ comment: code, "check run": code });
/** What the toolkit's clients and GitHub's API do together; test/host/app/publish has each fault of the API alone. The slowest come first. */
const rows: Readonly<Record<string, Row>> = {
	"an artifact service that is away": {
		faults: [{ path: artifacts, times: always, status: 503, body: {} }],
		lost: { artifact: "github-unavailable" },
	},
	"a blob store that fails": {
		faults: [{ method: "PUT", path: /^\/blobs\//, times: always, status: 500, body: "" }],
		lost: { artifact: "github-unavailable" },
	},
	"401 to everything": {
		faults: [{ path: rest, times: always, status: 401, body: { message: "Bad credentials" } }],
		lost: commentAndCheck("github-permission"),
		says: "pull-requests: write",
	},
	"403 to the comment, 409 to the check run and a blob store that refuses": {
		faults: [
			{
				...{ method: "POST", path: comments, times: always, status: 403 },
				...{ body: refused, headers: { "x-accepted-github-permissions": "issues=write" } },
			},
			{ method: "POST", path: checkRuns, times: always, status: 409, body: { message: "Conflict" } },
			{ method: "PUT", path: /^\/blobs\//, times: always, status: 403, body: "" },
		],
		lost: { comment: "github-permission", "check run": "github-conflict", artifact: "github-permission" },
		says: "issues: write",
	},
	"404 to the comment, 403 to the check run and an artifact that may not be made": {
		faults: [
			{ method: "POST", path: comments, times: always, status: 404, body: { message: "Not Found" } },
			{ method: "POST", path: checkRuns, times: always, status: 403, body: refused },
			{ path: artifacts, times: always, status: 403, body: { code: "permission_denied", msg: "denied" } },
		],
		lost: { comment: "github-not-found", "check run": "github-permission", artifact: "github-permission" },
		says: "checks: write",
	},
	"422 for a body that is too long, and an artifact whose every name is taken": {
		faults: [
			{
				...{ method: "POST", path: comments, times: always, status: 422 },
				body: {
					message: "Validation Failed",
					errors: [{ message: "body is too long (maximum is 65536 characters)" }],
				},
			},
			{ path: artifacts, times: always, status: 409, body: { code: "already_exists", msg: "taken" } },
		],
		lost: { comment: "github-rejected", artifact: "github-conflict" },
		says: "body is too long",
	},
	"502 after the comment was made, and a cut line after the check run was made": {
		faults: [
			{ method: "POST", path: comments, status: 502, body: html, applied: true },
			{ method: "POST", path: checkRuns, hangUp: true, applied: true },
		],
	},
	"silence once": { faults: [{ method: "GET", path: checkRuns, delayMs: 11_000 }] },
	"a full artifact storage": {
		faults: [
			{
				path: artifacts,
				times: always,
				status: 403,
				body: { code: "resource_exhausted", msg: "Artifact storage quota has been hit. Unable to upload" },
			},
		],
		lost: { artifact: "github-rejected", "report page": "github-rejected" },
	},
	"an artifact that is not finalised": {
		faults: [
			{ path: /FinalizeArtifact/, times: always, status: 400, body: { code: "malformed", msg: "no" } },
		],
		lost: { artifact: "github-rejected", "report page": "github-rejected" },
	},
};

function verdictOf({ exitCode, outputs }: ActionRun): Record<string, unknown> {
	const { result: _, "comment-url": __, "artifact-url": ___, "report-url": ____, ...verdict } = outputs;
	return { exitCode, ...verdict };
}

const addresses = [
	["comment-url", "comment"],
	["artifact-url", "artifact"],
] as const;

describe.concurrent("a platform that fails", () => {
	const faultless = {
		...{
			exitCode: 1,
			outcome: "fail",
			"failure-kind": "",
			passed: "0",
			warned: "0",
			failed: "1",
			inconclusive: "0",
		},
		headline: "1 latency gate fails · the only check does not pass",
	};

	it("a platform without a fault gives the reference for the rows below", async ({
		expect,
		onTestFinished,
	}) => {
		const play = await openReportPlay(onTestFinished);
		play.measured(failing, {});
		const { run, published } = await play.report();
		expect(verdictOf(run), run.stdout + run.stderr).toEqual(faultless);
		expect(published().map(({ state }) => state)).toEqual(["done", "done", "done", "done"]);
		expect(run.summary).not.toContain("could be published");
	});

	it.for(Object.entries(rows))(
		"a platform that fails by %s changes no outcome",
		async ([, row], { expect, onTestFinished }) => {
			const { lost = {}, says } = row;
			const play = await openReportPlay(onTestFinished);
			play.measured(failing, {});
			for (const fault of row.faults) play.github.inject(fault);
			const { run, out, published } = await play.report();
			expect(verdictOf(run), run.stdout + run.stderr).toEqual(faultless);
			expect(existsSync(join(out, "report.html"))).toBe(true);
			const failed = published().flatMap((one) => (one.state === "failed" ? [one] : []));
			expect(Object.fromEntries(failed.map(({ what, fault }) => [what, fault.code]))).toEqual(lost);
			for (const [output, what] of addresses) expect(run.outputs[output] === "", output).toBe(what in lost);
			expect(run.summary).toContain("TensorRT gate");
			expect(run.summary.includes("The outcome stands. Not everything could be published")).toBe(
				failed.length > 0,
			);
			for (const { what, fault } of failed) {
				expect(run.summary).toContain(`**${what}**`);
				expect(run.stdout).toContain(`[${fault.code}]`);
			}
			if (says !== undefined) for (const text of [run.summary, run.stdout]) expect(text).toContain(says);
			const { state } = play.github;
			expect(state.comments).toHaveLength("comment" in lost ? 0 : 1);
			expect(state.checkRuns).toHaveLength("check run" in lost ? 0 : 1);
			// Without a check run the lines of the config are annotated by the step itself.
			expect(run.annotations.some(({ file, line }) => file === "trtgate.yml" && line === 4)).toBe(
				"check run" in lost,
			);
			// Each wait is bounded (waitBefore), and so is their number.
			const sent = state.requests.map(({ method, path }) => `${method} ${path}`);
			expect(
				Math.max(...sent.map((one) => sent.filter((other) => other === one).length)),
			).toBeLessThanOrEqual(6);
			expect(state.violations).toEqual([]);
		},
	);
});

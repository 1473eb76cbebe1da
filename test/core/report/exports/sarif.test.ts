// SARIF for code scanning: only what the user can fix in the repository, each with a place.
import { expect, it } from "vitest";
import type { ErrorRecord, Finding } from "../../../../generated/result.ts";
import { renderSarif } from "../../../../src/core/report/exports/sarif.ts";
import { buildResult } from "../../../support/build-result.ts";

function runOf(parts: { findings?: Finding[]; errors?: ErrorRecord[] }) {
	return JSON.parse(
		renderSarif(buildResult({ ...parts, ...(parts.errors ? { outcome: "error" as const } : {}) })),
	).runs[0];
}

it("renderSarif names the place, the problem, the fix, and where to read on", () => {
	const run = runOf({
		findings: [
			{
				code: "dims-unbound",
				severity: "error",
				message: "Nothing says how large N is.",
				fix: "Add dims.N.",
				model: "net",
				node: "/conv1",
				location: { path: "ci/trt gate.yml", line: 7, column: 3 },
			},
		],
	});
	expect(run.results).toEqual([
		{
			ruleId: "dims-unbound",
			ruleIndex: 0,
			level: "error",
			message: { text: "net: Nothing says how large N is. Add dims.N." },
			locations: [
				{
					physicalLocation: {
						artifactLocation: { uri: "ci/trt%20gate.yml" },
						region: { startLine: 7, startColumn: 3 },
					},
				},
			],
			partialFingerprints: { "trtgateSubject/v1": "dims-unbound/net//conv1" },
		},
	]);
	expect(run.tool.driver.rules[0].helpUri).toMatch(/docs\/troubleshooting\/preflight\.md#dims-unbound$/);
});

it("renderSarif points at the config if nothing better is known, because code scanning refuses a result without a place", () => {
	const run = runOf({ findings: [{ code: "opset-too-new", severity: "warning", message: "Opset 99." }] });
	expect(run.results[0].locations).toEqual([
		{ physicalLocation: { artifactLocation: { uri: "trtgate.yml" } } },
	]);
});

it("renderSarif reports the config's faults as results, the machine's as notifications, and GitHub's not at all", () => {
	const run = runOf({
		errors: [
			{ kind: "configuration", code: "config-value", message: "The limit is odd." },
			{ kind: "runner", code: "tool-crashed", message: "trtexec was ended." },
			{ kind: "github", code: "github-permission", message: "No right." },
		],
	});
	expect(run.results.map((result: { ruleId: string }) => result.ruleId)).toEqual(["config-value"]);
	expect(run.tool.driver.rules[0].helpUri).toMatch(/docs\/troubleshooting\.md#config-value$/);
	expect(run.invocations[0].executionSuccessful).toBe(false);
	expect(run.invocations[0].toolExecutionNotifications).toMatchObject([
		{ descriptor: { id: "tool-crashed" } },
	]);
});

it("renderSarif reports that it checked and found nothing", () => {
	const run = runOf({});
	expect(run.results).toEqual([]);
	expect(run.invocations[0].executionSuccessful).toBe(true);
});

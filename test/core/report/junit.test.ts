// JUnit XML: one testcase a gate, well-formed whatever the names.
import { expect, it } from "vitest";
import { renderJunit } from "../../../src/core/report/junit.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";
import { readMarkup } from "../../support/read-markup.ts";
import { resultCases } from "../../support/result-cases.ts";

it.each(Object.entries(resultCases))(
	"renderJunit of %s is well-formed with one testcase for each gate and error",
	(_, result) => {
		const text = renderJunit(result);
		const elements = readMarkup(text.replace(/^<\?xml[^>]*\?>\n/, ""), "xml");
		const errors = result.errors.filter((error) => error.kind !== "github").length;
		expect(elements.filter(({ name }) => name === "testcase")).toHaveLength(result.gates.length + errors);
		expect(text).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/);
	},
);

it("renderJunit shows each status as JUnit knows it, and inconclusive never as passed", () => {
	const gates = (["pass", "warn", "fail", "inconclusive", "error"] as const).map((status) =>
		buildGate({ status, workload: status, message: `It is ${status}.` }),
	);
	const text = renderJunit(buildResult({ gates }));
	expect(text).toContain('tests="5" failures="1" errors="1" skipped="1"');
	expect(text).toContain('<testcase classname="encoder" name="latency · fp16 · pass"/>');
	expect(text).toContain("<system-out>Warning: It is warn.</system-out>");
	expect(text).toContain('<failure message="It is fail." type="latency"/>');
	expect(text).toContain('<skipped message="Inconclusive: It is inconclusive." type="latency"/>');
	expect(text).toContain('<error message="It is error." type="latency"/>');
});

it("renderJunit names the config's file if all gates stand in one", () => {
	const at = (path: string) => buildGate({ location: { path, line: 3 } });
	const one = renderJunit(buildResult({ gates: [at("trtgate.yml"), at("trtgate.yml")] }));
	expect(one).toMatch(/<testsuite [^>]* file="trtgate\.yml">/);
	expect(one).not.toMatch(/<testcase[^>]* file=/);
	expect(renderJunit(buildResult({ gates: [at("a.yml"), at("b.yml")] }))).not.toContain("file=");
});

import { expect, it } from "vitest";
import { diagnose } from "../../../src/formats/trtexec/diagnose.ts";
import { renderDiagnosis } from "../../../src/formats/trtexec/render.ts";
import { expectSchema } from "../../support/expect-schema.ts";
import { recordedEvidence, recordedRuns } from "./recorded.ts";

it("renderDiagnosis reports when the machine is at fault, and what else is wrong", () => {
	const text = renderDiagnosis(diagnose(recordedEvidence("11.2/fail-save-no-folder")));
	expect(text).toContain("a retry may help");
	expect(text).toContain("Also: save-failed");
});

it("renderDiagnosis colours only on request", () => {
	const diagnosis = diagnose(recordedEvidence("10.6/fail-no-gpu"));
	expect(renderDiagnosis(diagnosis)).not.toContain("\u001b");
	expect(renderDiagnosis(diagnosis, { color: true })).toContain("\u001b[31m");
});

it("renderDiagnosis lets no control character of a log or a command line through", () => {
	const path = "a\u001b[2J\u0007.plan";
	const evidence = { exitCode: 0, signal: null, argv: ["trtexec", `--saveEngine=${path}`], absent: [path] };
	expect(renderDiagnosis(diagnose(evidence))).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});

it("diagnose keeps to its schema for every recorded run", () => {
	for (const name of recordedRuns)
		expectSchema(JSON.parse(JSON.stringify(diagnose(recordedEvidence(name)))), "diagnose");
});

// Probes in every report: called what they are, told by their gate, and harmless whatever the model is called.
import { describe, expect, it } from "vitest";
import type { ProbeResult } from "../../../generated/result.ts";
import { validate } from "../../../generated/result-validator.js";
import { loadConfig } from "../../../src/core/config/parse.ts";
import { judgeProbe } from "../../../src/core/gates/goldens.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { buildResult } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";

const probe = (over: Partial<ProbeResult> = {}): ProbeResult => ({
	...{
		model: "net",
		engine: "fp16",
		probe: "neighbours",
		state: "differs",
		got: 0.61,
		allowed: 5e-4,
		output: "y",
	},
	message: "A row beside other neighbours and the row before are 0.61 apart.",
	...over,
});

const all: ProbeResult[] = [
	probe(),
	probe({ probe: "determinism", state: "agrees", got: 0 }),
	probe({ probe: "batch-size", state: "known", base: 0.6 }),
	probe({ probe: "padding", state: "skipped", got: null, allowed: null, message: "No input tells padding." }),
];

function judged(gates: string, probes: readonly ProbeResult[] = all) {
	const text = `version: 1\nmodels: { net: { onnx: m.onnx, engines: { fp16: { precision: fp16 } } } }\n${gates}`;
	const loaded = loadConfig(text, { path: "trtgate.yml" });
	if (loaded.state === "invalid") throw loaded.errors[0];
	const [engine] = loaded.config.models[0]!.engines;
	return {
		...buildResult(),
		probes: [...probes],
		gates: probes.flatMap((one) => judgeProbe(one, loaded.config, engine!)),
	};
}

it.each([
	["", ["warn", "pass"]],
	["gates: { probes: fail }", ["fail", "pass"]],
	["gates: { probes: off }", []],
])("the gate with %j gives %j, and nothing for what is known or does not apply", (gates, statuses) => {
	expect(judged(gates).gates.map(({ status }) => status)).toEqual(statuses);
});

describe("reports of probes", () => {
	const result = judged("");
	const titles = (of: typeof result) =>
		highlights(of)
			.filter(({ title }) => title.includes("no reference"))
			.map(({ severity, title }) => `${severity}: ${title}`);

	it("call them probes without a reference, in every format", () => {
		expect(validate(result), JSON.stringify(validate.errors)).toBe(true);
		const title = "Probes (no reference): 1 of 3 answers agree, 1 does not apply";
		for (const text of Object.values(inEveryFormat(result)))
			for (const shown of [title, "a row does not depend on its neighbours", "also in the base"])
				expect(text).toContain(shown);
		expect(renderHtml(result)).toContain("No input tells padding");
	});

	it("report each difference once, as severe as its gate, and known ones as notes", () => {
		expect(titles(result)).toEqual([
			"warn: net · fp16 has rows that depend on their neighbours (probe, no reference)",
			"note: net · fp16 gives different outputs at different batch sizes, as its base does (probe, no reference)",
		]);
		expect(titles(judged("gates: { probes: fail }"))[0]).toMatch(/^fail/);
		expect(headline(result)).toContain("1 probe difference");
	});

	it("show a probe whose gate is off only in the table", () => {
		const quiet = judged("gates: { probes: off }");
		expect(titles(quiet).filter((title) => title.startsWith("warn"))).toEqual([]);
		expect(renderHtml(quiet)).toContain("a row does not depend on its neighbours");
	});

	it("tell answers that are missing or not a number", () => {
		const odd = [probe({ got: "NaN" }), probe({ probe: "profile-ends", got: null, allowed: null })];
		expect(titles(judged("", odd))).toEqual([
			"warn: net · fp16 gives no finite output (probe, no reference)",
			"warn: net · fp16 gives no output at a size within its profile (probe, no reference)",
		]);
	});

	it("have no such section if no probe ran, and escape text from a model", () => {
		for (const text of Object.values(inEveryFormat(buildResult()))) expect(text).not.toContain("Probes");
		const { markdown, html } = inEveryFormat(
			judged("", [probe({ message: "<script>x</script> ::error::`|" })]),
		);
		expect(html + markdown).not.toContain("<script>x");
	});
});

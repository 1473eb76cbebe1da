// A golden that changed is told in the story, the Markdown and the page, louder where it is weaker.
import { describe, expect, it } from "vitest";
import type { GoldenChange } from "../../../generated/result.ts";
import { loadConfig } from "../../../src/core/config/parse.ts";
import { judgeGoldenChange } from "../../../src/core/gates/goldens.ts";
import { highlights } from "../../../src/core/report/highlights.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { buildResult } from "../../support/build-result.ts";

const change: GoldenChange = {
	...{ model: "segmenter", path: "golden/segmenter/golden.json", base: "segmenter@3", head: "segmenter@4" },
	...{ reason: "New <b>labels</b>", author: "Ann" },
	weakened: ['relative-l2 of output "logits" is looser: fp16 0.005 → 0.05.'],
	moved: [{ case: "scene-1", output: "logits", relativeL2: 0.093, maxAbs: 0.61 }],
	movedTotal: 4,
	tolerances: [
		{ output: "logits", kind: "relative-l2", what: "fp16", base: 0.005, head: 0.05, looser: true },
	],
	notes: ['1 case added: "scene-4".'],
};

function configOf(gates: string) {
	const loaded = loadConfig(`version: 1\nmodels: { segmenter: { onnx: m.onnx, golden: g.json } }\n${gates}`, {
		path: "trtgate.yml",
	});
	if (loaded.state === "invalid") throw loaded.errors[0];
	return loaded.config;
}

function judged(gates: string, of: GoldenChange = change) {
	const config = configOf(gates);
	return judgeGoldenChange(of, config, config.gates);
}

it.each([
	["", "warn"],
	["gates: { golden-change: fail }", "fail"],
])(
	"the gate of changed goldens with %j is %s, and reports what is weaker and the author's reason",
	(gates, status) => {
		expect(judged(gates)).toMatchObject([{ gate: "golden-change", model: "segmenter", status }]);
		expect(judged(gates)[0]?.message).toMatch(
			/^Golden segmenter@3 became segmenter@4 and is weaker: relative-l2 .* 4 outputs moved\. It needs a review\. Ann says: New/,
		);
	},
);

it("the gate of changed goldens can be off, and reports a removed golden", () => {
	expect(judged("gates: { golden-change: off }")).toEqual([]);
	expect(judged("", { ...change, head: null, weakened: ["It is gone."], movedTotal: 0 })[0]?.message).toBe(
		"Golden segmenter@3 was removed: It is gone. It needs a review.",
	);
});

describe("the report", () => {
	const result = { ...buildResult(), goldenChanges: [change], gates: judged("") };

	it("the report has one story of it, with its numbers, and none twice", () => {
		const told = highlights(result).filter(({ title }) => /golden/.test(title));
		expect(told).toHaveLength(1);
		expect(told[0]).toMatchObject({
			severity: "warn",
			topic: ["weakened golden", "weakened goldens"],
			title: expect.stringMatching(/needs review: it is WEAKER/),
		});
	});

	it("the report shows what moved, by how much and the author's reason, with users' text escaped", () => {
		const markdown = renderMarkdown(result);
		expect(markdown).toMatch(
			/WEAKER: relative-l2 .* 4 outputs moved, furthest `logits` of case `scene-1`: relative L2 9\.3e-2/,
		);
		expect(markdown).toMatch(/Ann wrote: “New &lt;b&gt;labels/);
		const page = renderHtml(result);
		expect(page).toContain('id="golden-changes"');
		expect(page).toMatch(/looser/);
		expect(page).toContain("New &lt;b&gt;labels");
		expect(page).not.toContain("<b>labels");
	});
});

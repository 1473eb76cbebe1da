// A pull request's own config chooses among machines that the base or the workflow names.
import { expect, it } from "vitest";
import { refuseNewRunners } from "../../../src/core/plan/trusted-runners.ts";
import { loaded } from "../config/load.ts";

const runnersOf = (labels: readonly string[]) =>
	loaded(
		`version: 1\nmodels: { net: { onnx: a.onnx } }\nrunners: [${labels.map((text, at) => `{ name: r${at}, labels: ${text} }`).join(", ")}]\n`,
	);

const base = ["[self-hosted, GPU]", "{ group: gpu, labels: [l4] }", "arc-h200"];

const rows: [labels: string, isTrusted: boolean][] = [
	["[self-hosted, gpu]", true],
	["[gpu, self-hosted]", true],
	["{ group: gpu, labels: [l4] }", true],
	["[arc-h200]", true],
	["ubuntu-latest", true],
	["[self-hosted]", false],
	["[self-hosted, gpu, release]", false],
	["{ group: gpu }", false],
	["{ group: release, labels: [l4] }", false],
	["[gpu, l4]", false],
];

it.each(rows)("a runner with the labels %s is trusted: %s", (labels, isTrusted) => {
	const check = () =>
		refuseNewRunners(runnersOf([labels]), { base: runnersOf(base).runners, labels: ["ubuntu-latest"] });
	if (isTrusted) expect(check).not.toThrow();
	else
		expect(check).toThrow(
			/the runner r0 has the labels .* does not name\. A pull request cannot choose another machine/,
		);
});

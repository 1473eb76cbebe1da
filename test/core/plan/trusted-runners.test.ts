import { expect, it } from "vitest";
import { refuseNewRunners } from "../../../src/core/plan/matrix.ts";
import { loaded } from "../config/load.ts";

const runnersOf = (labels: readonly string[]) =>
	loaded(
		`version: 1\nmodels: { net: { onnx: a.onnx } }\nrunners: [${labels.map((text, at) => `{ name: r${at}, labels: ${text} }`).join(", ")}]\n`,
	);

const [gpu, group] = ["[self-hosted, GPU]", "{ group: gpu, labels: [l4] }"];

it.each([
	[gpu, "[self-hosted, gpu]", true],
	[gpu, "[gpu, self-hosted]", true],
	[group, "{ group: gpu, labels: [l4] }", true],
	["arc-h200", "[arc-h200]", true],
	["[ubuntu-latest]", "ubuntu-latest", true],
	[gpu, "[self-hosted]", false],
	[gpu, "[self-hosted, gpu, release]", false],
	[group, "{ group: gpu }", false],
	[group, "{ group: release, labels: [l4] }", false],
	[group, "[gpu, l4]", false],
])("if the workflow names %s, a runner with the labels %s is trusted: %s", (own, labels, isTrusted) => {
	const [workflow] = runnersOf([own]).runners;
	const check = () => refuseNewRunners(runnersOf([labels]), workflow?.labels ?? []);
	if (isTrusted) expect(check).not.toThrow();
	else
		expect(check).toThrow(
			/the runner r0 has the labels .* does not name\. A pull request cannot choose another machine/,
		);
});

// A changed interface: what differs, and what undoes it.
import { expect, it } from "vitest";
import type { InterfaceRow } from "../../../generated/result.ts";
import { highlights } from "../../../src/core/report/highlights.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";

const place = { model: "det", engine: "fp16" };
const value = (name: string, dtype: string, shape: string) => ({ name, dtype, shape });

function resultOf(...rows: InterfaceRow[]) {
	const gates = [buildGate({ ...place, gate: "interface", status: "fail", message: "" })];
	return buildResult({ gates, interfaceChanges: rows.map((row) => ({ ...place, rows: [row] })) });
}

const narrower: InterfaceRow = {
	side: "size",
	base: value("p2o.N", "sizes", "1 to 8"),
	head: value("p2o.N", "sizes", "1 to 4"),
};
const retyped: InterfaceRow = {
	side: "input",
	base: value("x", "float32", "[1]"),
	head: value("x", "float16", "[1]"),
};

it.each([
	[
		"a narrower range names the dimension and leads to the config",
		narrower,
		/^p2o\.N takes 1 to 4; in the base 1 to 8\.$/,
		"restore the sizes under `dims` or `profiles`",
	],
	[
		"an input of another type leads to the export",
		retyped,
		/^Input x/,
		"export the model with the old interface",
	],
])("%s", (_, row, says, undo) => {
	const [highlight] = highlights(resultOf(row));
	expect(highlight?.sentences.join(" ")).toMatch(says);
	expect(highlight?.fix).toContain(undo);
});

it("narrower sizes and the workload that they exclude are one changed interface", () => {
	const workload: InterfaceRow = { side: "workload", base: value("batch 8", "", "8 exceeds 4"), head: null };
	const result = resultOf(narrower, workload);
	expect(highlights(result).map(({ title }) => title)).toEqual([
		"det · fp16: the interface changed (2 differences)",
	]);
	expect(renderMarkdown(result)).toMatch(/\| workload \| .* \| no longer runs \|/);
});

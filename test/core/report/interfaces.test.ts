// A changed interface: what differs, and what undoes it.
import { expect, it } from "vitest";
import type { InterfaceRow } from "../../../generated/result.ts";
import { highlights } from "../../../src/core/report/highlights.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";

function shown(row: InterfaceRow): { text: string; fix: string } {
	const place = { model: "det", engine: "fp16" };
	const gates = [buildGate({ ...place, gate: "interface", status: "fail", message: "" })];
	const found = highlights(buildResult({ gates, interfaceChanges: [{ ...place, rows: [row] }] })).find(
		({ topic }) => topic[0] === "changed interface",
	);
	return { text: (found?.sentences ?? []).join(" "), fix: found?.fix ?? "" };
}

const value = (name: string, dtype: string, shape: string) => ({ name, dtype, shape });

it("a narrower range names the dimension as the model does, and leads to the config", () => {
	const { text, fix } = shown({
		side: "size",
		base: value("p2o.N", "sizes", "1 to 8"),
		head: value("p2o.N", "sizes", "1 to 4"),
	});
	expect(text).toBe("p2o.N takes 1 to 4; in the base 1 to 8.");
	expect(fix).toContain("restore the sizes under `dims` or `profiles` in trtgate.yml");
	expect(fix).not.toContain("golden");
});

it("an input of another type leads to the export", () => {
	const { text, fix } = shown({
		side: "input",
		base: value("x", "float32", "[1]"),
		head: value("x", "float16", "[1]"),
	});
	expect(text).toMatch(/^Input x/);
	expect(fix).toContain("export the model with the old interface");
});

it("narrower sizes and the workload that they exclude are one changed interface", () => {
	const place = { model: "det", engine: "fp16" };
	const size: InterfaceRow = {
		side: "size",
		base: value("batch", "sizes", "1 to 8"),
		head: value("batch", "sizes", "1 to 4"),
	};
	const workload: InterfaceRow = { side: "workload", base: value("batch 8", "", "8 exceeds 4"), head: null };
	const result = buildResult({
		gates: [buildGate({ ...place, gate: "interface", status: "fail", message: "" })],
		interfaceChanges: [size, workload].map((row) => ({ ...place, rows: [row] })),
	});
	const titles = highlights(result).map(({ title }) => title);
	expect(titles).toEqual(["det · fp16: the interface changed (2 differences)"]);
	expect(renderMarkdown(result)).toMatch(/\| workload \| .* \| no longer runs \|/);
});

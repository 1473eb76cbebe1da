// CSV for spreadsheets: whole rows whatever the names, and no formula ever.
import fc from "fast-check";
import { expect, it } from "vitest";
import { renderCsv } from "../../../../src/core/report/exports/csv.ts";
import { anyText } from "../../../support/any-text.ts";
import {
	buildComparison,
	buildResult,
	buildSlowWorkload,
	buildWorkload,
} from "../../../support/build-result.ts";
import { readCsv } from "../../../support/read-csv.ts";
import { resultCases } from "../../../support/result-cases.ts";

function table(text: string): Record<string, string>[] {
	const [header = [], ...rows] = readCsv(text);
	return rows.map((row) => Object.fromEntries(header.map((name, index) => [name, row[index] ?? ""])));
}

it.each(Object.entries(resultCases))(
	"renderCsv of %s has one row a workload, all as wide as the header",
	(_, result) => {
		const rows = readCsv(renderCsv(result));
		expect(rows).toHaveLength(result.workloads.length + 1);
		expect(new Set(rows.map((row) => row.length)).size).toBe(1);
		expect(new Set(rows[0]).size).toBe(rows[0]?.length);
	},
);

it("renderCsv states units in the headers and figures without loss", () => {
	const [row] = table(renderCsv(buildResult({ workloads: [buildSlowWorkload()] })));
	expect(row).toMatchObject({
		model: "classifier",
		workload: "batch 8",
		shapes: "images: 8×3×32×32",
		verdict: "regressed",
		latency_change_fraction: "0.0416",
		latency_change_low_fraction: "0.0372",
		latency_change_high_fraction: "0.0461",
		base_median_ms: "0.02791",
		head_median_ms: "0.02902",
		head_peak_memory_bytes: String(742 * 1024 * 1024),
		backend: "TensorRT",
	});
});

it("renderCsv leaves unknown values empty instead of writing zeros", () => {
	const latency = buildComparison({ verdict: "missing", estimate: null, interval: null, excluded: null });
	const [row] = table(renderCsv(buildResult({ workloads: [buildWorkload({ latency, base: null })] })));
	expect(row).toMatchObject({
		latency_change_fraction: "",
		latency_change_low_fraction: "",
		base_median_ms: "",
		base_runs: "",
	});
});

it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "＝1", "\r\n=1"])(
	"renderCsv never starts a cell with the formula %j",
	(model) => {
		const [row] = table(renderCsv(buildResult({ workloads: [buildWorkload({ model })] })));
		expect(row?.["model"]).toMatch(/^'/);
	},
);

it("renderCsv stays one table whatever a model is called", () => {
	fc.assert(
		fc.property(anyText(40), (model) => {
			const rows = readCsv(renderCsv(buildResult({ workloads: [buildWorkload({ model })] })));
			expect(rows.map((row) => row.length)).toEqual([rows[0]?.length, rows[0]?.length]);
			expect(rows[1]?.[0] ?? "").not.toMatch(/^\s*[=+\-@]/);
		}),
	);
});

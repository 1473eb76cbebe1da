import { expect, it } from "vitest";
import type { MeasuredLoad, MeasuredSide } from "../../../generated/result.ts";
import { readRecord } from "../../../src/history/core/files.ts";
import { recordOf } from "../../../src/history/core/from-result.ts";
import { buildComparison, buildResult, buildWorkload } from "../../support/build-result.ts";
import { hash } from "../../support/history-records.ts";

const identity = { run: "7-1", url: "https://example.invalid/7", machine: { host: "h200-a" } };

it("recordOf keeps logarithms of ratios, hashes and the fingerprint, and fits its schema", () => {
	const record = recordOf(buildResult(), identity, hash);
	expect(readRecord(JSON.stringify(record))).toMatchObject({ state: "ok" });
	const [row] = record?.rows ?? [];
	expect(record).toMatchObject({
		run: "7-1",
		machine: { host: "h200-a" },
		method: { trtgate: expect.any(String) },
	});
	expect(row?.ratio).toMatchObject({
		ppm: Math.round(Math.log1p(-0.0006) * 1e6),
		halfPpm: Math.round(((Math.log1p(0.0016) - Math.log1p(-0.0028)) / 2) * 1e6),
		pairs: 8,
	});
	expect(row?.head).toMatchObject({ ns: expect.any(Number), memoryBytes: 742 * 1024 * 1024 });
});

it("recordOf gives each run one record", () => {
	const result = buildResult();
	const sources = [result, result, { ...result, durationMs: result.durationMs + 1 }].map(
		(of) => recordOf(of, identity, hash)?.source,
	);
	expect(sources[0]).toBe(sources[1]);
	expect(sources[0]).not.toBe(sources[2]);
});

it("recordOf has an engine's structure only if its layers are known", () => {
	const structureOf = (fingerprint?: { structure: string; tactics: string }) => {
		const arm = { iterations: 10, count: 0, totalMs: 1, layers: [], ...(fingerprint && { fingerprint }) };
		const workload = buildWorkload({ layers: { base: arm, head: arm } });
		return recordOf(buildResult({ workloads: [workload] }), identity, hash)?.rows[0]?.head.structure;
	};
	expect(structureOf()).toBeUndefined();
	const one = structureOf({ structure: "s", tactics: "t" });
	expect(one).toMatch(/^[0-9a-f]{12}$/);
	expect(one).not.toBe(structureOf({ structure: "s", tactics: "u" }));
});

it("there is no record of a result if nothing was timed, or if it was merged", () => {
	const parts = [{ name: "l4", state: "merged" as const }];
	for (const result of [{ workloads: [] }, { workloads: [buildWorkload({ part: "l4" })], parts }])
		expect(recordOf(buildResult(result), identity, hash)).toBeNull();
});

function loadOf(workload: string, overrides: Partial<MeasuredLoad> = {}): MeasuredLoad {
	const side = (p99Ms: number): MeasuredSide => ({
		...{ runs: 5, requests: 2500, serviceMs: 10, meanMs: 20, p50Ms: 15, p99Ms, maxMs: 80, latenessMs: 0.01 },
		p99: { lowMs: p99Ms - 2, highMs: p99Ms + 2 },
	});
	const { model, engine } = buildWorkload();
	const comparison = buildComparison({ estimate: 0.1, interval: [0.05, 0.15], pairs: 5 });
	const at = (share: number | null, ms: number) => ({
		...{ share, ratePerSecond: 80, comparison },
		...{ base: side(ms), head: side(ms * 1.1) },
	});
	return {
		...{ model, engine, workloads: ["batch 1", workload], arrivals: "poisson", replaced: 0 },
		...{ maxBatch: 8, maxDelayMs: 2, points: [at(0.8, 50), at(null, 30)] },
		...overrides,
	};
}

it("a measured load is a series beside its last workload's, with the P99 at the first rate", () => {
	const [load, workload] = [loadOf(buildWorkload().workload), buildWorkload()];
	const record = recordOf(buildResult({ workloads: [workload], measuredLoads: [load] }), identity, hash);
	expect(readRecord(JSON.stringify(record))).toMatchObject({ state: "ok" });
	const [own, atLoad, ...others] = record!.rows;
	expect(others).toEqual([]);
	expect(atLoad).toMatchObject({
		series: `${own!.series} · P99 at load`,
		kind: "engine",
		unrepeated: true,
		ratio: { ppm: Math.round(Math.log1p(0.1) * 1e6), pairs: 5 },
		base: { ns: 50e6 },
		head: { ns: 55e6 },
	});
	expect(atLoad!.head).not.toHaveProperty("memoryBytes");
	const { memoryBytes: _, ns: __, ...facts } = own!.head;
	expect(atLoad!.head).toMatchObject(JSON.parse(JSON.stringify(facts)));
});

it("a sweep is one series, the ratio of its worst size, whichever that is; memory depends on the size", () => {
	const row = buildWorkload({ workload: "seq 1 to 8" });
	const sizeOf = (size: number, estimate: number) => {
		const latency = buildComparison({ estimate, interval: [estimate - 0.01, estimate + 0.01], pairs: 5 });
		return { size, row: { ...row, id: `${row.id}/${size}`, latency } };
	};
	const { model, engine, workload } = row;
	const points = [sizeOf(1, 0.02), sizeOf(4, 0.1), sizeOf(8, 0.03)];
	const sweeps = [{ model, engine, workload, dim: "seq", points }];
	const record = recordOf(buildResult({ workloads: [], sweeps }), identity, hash);
	expect(readRecord(JSON.stringify(record))).toMatchObject({ state: "ok" });
	expect(record!.rows).toMatchObject([
		{ series: row.id, unrepeated: true, ratio: { ppm: Math.round(Math.log1p(0.1) * 1e6), pairs: 5 } },
	]);
	expect(record!.rows[0]!.head).not.toHaveProperty("memoryBytes");
});

it.each([
	["without figures", { points: [] }],
	["of a workload that was not timed", { workloads: ["other"] }],
	["of another engine", { engine: "other" }],
])("a measured load %s has no series", (_, overrides) => {
	const [load, workload] = [loadOf(buildWorkload().workload, overrides), buildWorkload()];
	const record = recordOf(buildResult({ workloads: [workload], measuredLoads: [load] }), identity, hash);
	expect(record!.rows).toHaveLength(1);
});

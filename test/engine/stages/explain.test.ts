import { expect, it } from "vitest";
import type { VerdictKind } from "../../../generated/result.ts";
import { explain } from "../../../src/engine/stages/explain.ts";
import type { Explained, ExplainInput } from "../../../src/engine/stages/time-layers.ts";
import type { Backend, ProfileResult, TraceJob, TraceResult } from "../../../src/ports/backend.ts";
import { buildKernels, buildLayers } from "../../support/build-layers.ts";
import { fakeBackend, fakeWorkload, silent, steadyRun } from "../../support/fakes.ts";

interface Situation extends Partial<Pick<ExplainInput, "workloads">>, Partial<ExplainInput["profile"]> {
	verdicts?: Record<string, VerdictKind>;
	isUntimed?: boolean;
	profiled?: ProfileResult;
	traced?: (job: TraceJob) => TraceResult;
	stopAfter?: number;
}

async function look(situation: Situation) {
	const { verdicts = {}, isUntimed, nsys = "on-regression", ncu = "never", profiled, traced } = situation;
	const {
		stopAfter = Infinity,
		workloads = [fakeWorkload("one", { base: "a" }), fakeWorkload("two", { base: "a" })],
	} = situation;
	const [layers, kernels]: [string[], string[]] = [[], []];
	const counted: (string | undefined)[] = [];
	const explained: Explained[] = [];
	const backend: Backend = {
		...fakeBackend(() => steadyRun(1)),
		async profile(job) {
			layers.push(job.engine.arm);
			return profiled ?? { state: "done", layers: buildLayers({ stem: 0.5 }) };
		},
		async trace(job) {
			if (job.tool === "nsys") kernels.push(job.name);
			else counted.push(job.kernel);
			if (job.tool === "nsys" && traced !== undefined) return traced(job);
			return { state: "ran", files: [`${job.folder}/${job.name}.${job.tool}-rep`] };
		},
	};
	const run = { arm: "head", pair: 0, order: 0, state: "ok", wallMs: 1 } as const;
	const rows = Object.entries(verdicts).map(([name, verdict]) => ({
		...{ id: `net/plain/${name}`, verdict, runs: isUntimed ? [] : [run] },
	}));
	const input = { workloads, rows, profile: { nsys, ncu }, outFolder: "/out", timeoutMs: 1 };
	const reason = () => (explained.length >= stopAfter ? "interrupted" : null);
	for await (const one of explain(input, { backend, progress: silent, interrupt: { reason } }))
		explained.push(one);
	return { layers, kernels, counted, explained, files: explained.flatMap(({ files }) => files) };
}

it("explain looks once at the layers of each engine's sides, whatever the number of workloads", async () => {
	const { layers, kernels, files } = await look({});
	expect([layers, kernels]).toEqual([["base", "head"], []]);
	expect(files).toHaveLength(4);
	expect(files[0]?.path).toMatch(/^layers\/.+-base\.layers\.json$/);
});

it.each([
	["without a base", {}],
	["with one of the same bytes", { base: "b" }],
])("explain looks at the head alone %s", async (_, base) => {
	expect((await look({ workloads: [fakeWorkload("one", base)] })).layers).toEqual(["head"]);
});

it.each([
	["never", { two: "regressed" }, 0],
	["on-regression", { one: "unchanged", two: "regressed" }, 2],
	["on-regression", { one: "improved", two: "inconclusive" }, 0],
	["always", {}, 4],
] as const)("explain looks at kernels %s, of %j: %i times", async (nsys, verdicts, times) => {
	const { kernels, files } = await look({ nsys, verdicts });
	expect(kernels).toHaveLength(times);
	expect(files.filter(({ path }) => path.startsWith("nsys/"))).toHaveLength(times);
});

it("explain does not profile workloads that were not timed because nothing changed", async () => {
	const verdicts = { one: "unchanged", two: "unchanged" } as const;
	const { layers, kernels } = await look({ nsys: "always", verdicts, isUntimed: true });
	expect([...layers, ...kernels]).toEqual([]);
});

it("explain reports what it could not see, and never throws", async () => {
	const { explained } = await look({
		nsys: "always",
		workloads: [fakeWorkload("one", {})],
		profiled: { state: "failed", failure: { code: "tool-crashed", message: "It died." } },
		traced: () => ({ state: "ran", files: [], sentence: "No nsys." }),
	});
	expect(explained.map(({ note }) => note)).toEqual([
		"The layers of net/plain/one (head) could not be timed: It died.",
		"No nsys.",
	]);
});

it("explain reports nothing on a backend that cannot look into engines", async () => {
	const absent = { state: "absent" } as const;
	const { explained } = await look({ nsys: "always", profiled: absent, traced: () => absent });
	expect(explained).not.toEqual([]);
	expect(explained.every(({ files, note }) => files.length === 0 && note === undefined)).toBe(true);
});

it.each([
	["regressed", ["two", "one"], ["base", "head", "base", "head"]],
	["improved", ["two"], ["base", "head"]],
	["not-comparable", ["two"], ["base", "head"]],
] as const)("explain times the layers of every workload that is %s", async (verdict, names, arms) => {
	const verdicts = Object.fromEntries(names.map((name) => [name, verdict]));
	const { layers, explained } = await look({ nsys: "never", verdicts });
	expect(layers).toEqual(arms);
	const ids = new Set(explained.map(({ seen }) => seen?.id));
	expect(ids).toEqual(new Set(names.map((name) => `net/plain/${name}`)));
});

it("explain times the layers of so many workloads, the slower ones first, and reports how many it left out", async () => {
	const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
	const verdicts: Situation["verdicts"] = Object.fromEntries(names.map((name) => [name, "inconclusive"]));
	const workloads = names.map((name) => fakeWorkload(name, { base: "a" }));
	const { explained } = await look({ nsys: "never", workloads, verdicts: { ...verdicts, w19: "regressed" } });
	expect(explained[0]?.note).toContain("The layers of 4 more workloads");
	const seen = new Set(explained.flatMap(({ seen }) => seen?.id ?? []));
	expect([seen.has("net/plain/w19"), seen.size]).toEqual([true, 16]);
});

it("explain looks with ncu into the kernel that nsys saw become slower", async () => {
	const { counted, files } = await look({
		ncu: "on-regression",
		verdicts: { two: "regressed" },
		traced: ({ engine: { arm } }) => {
			const kernels = buildKernels({ slow: 8, "slower now": arm === "base" ? 1 : 2 });
			return { state: "ran", files: [], kernels };
		},
	});
	expect(counted).toEqual(["slower now", "slower now"]);
	const what = "Nsight Compute profile of net/plain/two (head)";
	expect(files).toContainEqual(expect.objectContaining({ what }));
});

it("explain ends when the run is cancelled", async () => {
	expect((await look({ stopAfter: 1 })).layers).toEqual(["base"]);
});

// Which engines are looked into, and what a look that fails leaves behind, with an in-memory backend.
import { expect, it } from "vitest";
import type { VerdictKind } from "../../../generated/result.ts";
import { explain } from "../../../src/engine/stages/explain.ts";
import type { Explained, ExplainInput } from "../../../src/engine/stages/time-layers.ts";
import type { Backend, ProfileResult, TraceJob, TraceResult } from "../../../src/ports/backend.ts";
import type { TimedWorkload } from "../../../src/stages/workloads.ts";
import { buildLayers } from "../../support/build-layers.ts";
import { fakeBackend, fakeWorkload, silent, steadyRun } from "../../support/fakes.ts";

function timed(name: string, base: string | null = "a"): TimedWorkload {
	return fakeWorkload(name, base === null ? {} : { base });
}

const kernel = (name: string, totalMs: number) => ({ name, calls: 1, totalMs, share: 0.5 });

type When = ExplainInput["profile"]["nsys"];

interface Looked {
	layers: string[];
	kernels: string[];
	/** Kernel that ncu was asked to examine. */
	counted: (string | undefined)[];
	explained: Explained[];
}

async function look(
	over: Partial<Omit<ExplainInput, "profile">> & {
		nsys?: When;
		ncu?: When;
		verdicts?: Record<string, VerdictKind>;
		untimed?: string[];
	},
	answers: {
		profile?: ProfileResult;
		trace?: TraceResult | ((job: TraceJob) => TraceResult);
		stopAfter?: number;
	} = {},
): Promise<Looked> {
	const looked: Looked = { layers: [], kernels: [], counted: [], explained: [] };
	const backend: Backend = {
		...fakeBackend(() => steadyRun(1)),
		async profile(job) {
			looked.layers.push(job.engine.arm);
			return answers.profile ?? { state: "done", layers: buildLayers({ stem: 0.5 }) };
		},
		async trace(job) {
			if (job.tool === "ncu") {
				looked.counted.push(job.kernel);
				return { state: "ran", files: [`${job.folder}/${job.name}.ncu-rep`] };
			}
			looked.kernels.push(job.name);
			if (typeof answers.trace === "function") return answers.trace(job);
			return answers.trace ?? { state: "ran", files: [`${job.folder}/${job.name}.nsys-rep`] };
		},
	};
	const { verdicts = {}, untimed = [], nsys = "on-regression", ncu = "never", ...rest } = over;
	const runs = [{ arm: "head", pair: 0, order: 0, state: "ok", wallMs: 1 }] as const;
	const rows = Object.entries(verdicts).map(([name, verdict]) => ({
		id: `net/plain/${name}`,
		verdict,
		runs: untimed.includes(name) ? [] : [...runs],
	}));
	const input: ExplainInput = {
		workloads: [timed("one"), timed("two")],
		rows,
		profile: { nsys, ncu },
		outFolder: "/out",
		timeoutMs: 1,
		...rest,
	};
	const reason = () =>
		looked.explained.length >= (answers.stopAfter ?? Number.POSITIVE_INFINITY) ? "interrupted" : null;
	for await (const explained of explain(input, { backend, progress: silent, interrupt: { reason } }))
		looked.explained.push(explained);
	return looked;
}

it("explain looks once at the layers of each engine's sides, whatever the number of workloads", async () => {
	const { layers, kernels, explained } = await look({});
	expect(layers).toEqual(["base", "head"]);
	expect(kernels).toEqual([]);
	expect(explained.flatMap(({ files }) => files.map(({ path }) => path))).toHaveLength(4);
	expect(explained[0]?.files[0]?.path).toMatch(/^layers\/.+-base\.layers\.json$/);
});

it.each([
	["without a base", null],
	["with one of the same bytes", "b"],
])("explain looks at the head alone %s", async (_, base) => {
	expect((await look({ workloads: [timed("one", base)] })).layers).toEqual(["head"]);
});

it.each([
	["never", { two: "regressed" }, 0],
	["on-regression", { one: "unchanged", two: "regressed" }, 2],
	["on-regression", { one: "improved", two: "inconclusive" }, 0],
	["always", {}, 4],
] as const)("explain looks at kernels %s, of %j: %i times", async (nsys, verdicts, times) => {
	const { kernels, explained } = await look({ nsys, verdicts });
	expect(kernels).toHaveLength(times);
	const reports = explained.flatMap(({ files }) => files.filter(({ path }) => path.startsWith("nsys/")));
	expect(reports).toHaveLength(times);
});

it("explain does not profile workloads that were not timed because nothing changed", async () => {
	const { layers, kernels } = await look({
		nsys: "always",
		verdicts: { one: "unchanged", two: "unchanged" },
		untimed: ["one", "two"],
	});
	expect([...layers, ...kernels]).toEqual([]);
});

it("explain reports what it could not see, and never throws", async () => {
	const failure = { code: "tool-crashed", message: "It died." } as const;
	const { explained } = await look(
		{ nsys: "always", workloads: [timed("one", null)] },
		{ profile: { state: "failed", failure }, trace: { state: "ran", files: [], sentence: "No nsys." } },
	);
	expect(explained).toEqual([
		{ files: [], note: "The layers of net/plain/one (head) could not be timed: It died." },
		{ files: [], note: "No nsys." },
	]);
});

it("explain reports nothing on a backend that cannot look into engines", async () => {
	const { explained } = await look(
		{ nsys: "always" },
		{ profile: { state: "absent" }, trace: { state: "absent" } },
	);
	expect(explained).not.toEqual([]);
	expect(explained.every(({ files, note }) => files.length === 0 && note === undefined)).toBe(true);
});

it.each([
	["regressed", ["head", "base"], ["base", "head", "base", "head"]],
	["improved", ["two"], ["base", "head"]],
	["not-comparable", ["two"], ["base", "head"]],
] as const)("explain times the layers of every workload that is %s", async (verdict, names, arms) => {
	const verdicts = Object.fromEntries(names.map((name, index) => [["two", "one"][index] ?? name, verdict]));
	const { layers, explained } = await look({ nsys: "never", verdicts });
	expect(layers).toEqual(arms);
	expect(new Set(explained.map(({ seen }) => seen?.id))).toEqual(
		new Set(Object.keys(verdicts).map((name) => `net/plain/${name}`)),
	);
});

it("explain times the layers of so many workloads, the slower ones first, and reports how many it left out", async () => {
	const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
	const verdicts = Object.fromEntries(
		names.map((name, index) => [name, index === 19 ? "regressed" : "inconclusive"] as const),
	);
	const { explained } = await look({ nsys: "never", workloads: names.map((name) => timed(name)), verdicts });
	expect(explained[0]?.note).toContain("The layers of 4 more workloads");
	const seen = new Set(explained.flatMap(({ seen }) => seen?.id ?? []));
	expect(seen).toContain("net/plain/w19");
	expect(seen.size).toBe(16);
});

it("explain looks with ncu into the kernel that nsys saw become slower", async () => {
	const kernels = (ms: number) => ({
		count: 2,
		totalMs: 9,
		kernels: [kernel("slow", 8), kernel("slower now", ms)],
	});
	const trace = (job: TraceJob): TraceResult => ({
		state: "ran",
		files: [],
		kernels: kernels(job.engine.arm === "base" ? 1 : 2),
	});
	const { counted, explained } = await look(
		{ ncu: "on-regression", verdicts: { two: "regressed" } },
		{ trace },
	);
	expect(counted).toEqual(["slower now", "slower now"]);
	expect(explained.flatMap(({ files }) => files.map(({ what }) => what))).toContain(
		"Nsight Compute profile of net/plain/two (head)",
	);
});

it("explain ends when the run is cancelled", async () => {
	expect((await look({}, { stopAfter: 1 })).layers).toEqual(["base"]);
});

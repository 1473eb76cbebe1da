// Conclusions on an upgrade of TensorRT from the parts of a merged result.
import { expect, it } from "vitest";
import type { Comparison, GoldenCheck, Result } from "../../../generated/result.ts";
import { upgradeNotes, upgradesOf } from "../../../src/core/merge/upgrade.ts";
import {
	buildBuild,
	buildCheck,
	buildGolden,
	buildResult,
	buildStats,
	buildWorkload,
} from "../../support/build-result.ts";

type Records = Partial<Pick<Result, "builds" | "golden" | "workloads" | "findings">>;

const calm: Required<Records> = {
	builds: [buildBuild()],
	golden: [buildGolden({ checks: [buildCheck({ got: 0.001 })] })],
	workloads: [buildWorkload({ head: buildStats(1) })],
	findings: [],
};

/** A part that ran on a version. */
type Ran = readonly [version: string, records: Records, device?: string];

function merged(...ran: readonly Ran[]): Result {
	const { backend } = buildResult();
	const of = <Key extends keyof typeof calm>(key: Key) =>
		ran.flatMap(([version, records]) =>
			(records[key] ?? calm[key]).map((record) => ({ ...record, part: version })),
		) as Result[Key];
	const parts = ran.map(([version, , device = "NVIDIA H200"]) => ({
		name: version,
		state: "merged" as const,
		backend: { ...backend, kind: "tensorrt" as const, version, device },
	}));
	return {
		...buildResult(),
		parts,
		builds: of("builds"),
		golden: of("golden"),
		workloads: of("workloads"),
		findings: of("findings"),
	};
}

const failed = (over: object) => ({
	builds: [
		buildBuild({
			state: "refused",
			failure: { code: "x", title: "No kernel.", fix: "", excerpt: [], ...over },
		}),
	],
	golden: [],
	workloads: [],
});
const check = (got: number, pass = true) => [
	buildGolden({ state: pass ? "match" : "mismatch", checks: [buildCheck({ got, pass })] }),
];

it.each<[string, Records, string, string]>([
	["nothing changed", {}, "Upgrade: 1 engine built, 1 golden case matched, no workload was compared.", ""],
	[
		"a build fails",
		failed({}),
		"Do not upgrade yet: 1 engine that no longer builds.",
		"`encoder/fp16` no longer builds: No kernel.",
	],
	[
		"the machine cannot build",
		failed({ kind: "runner" }),
		"Not decided: 1 engine that its machine could not build.",
		"by a fault of the machine",
	],
	[
		"outputs drift",
		{ golden: check(0.02, false) },
		"Do not upgrade yet: 1 engine that drifts.",
		"1 of 1 golden case no longer match, such as `hidden` relative-l2 1e-3 → 2e-2 (allowed: 5e-3).",
	],
	[
		"errors grow",
		{ golden: check(0.004) },
		"Upgrade after a review: 1 engine whose errors grow.",
		"1e-3 → 4e-3",
	],
	[
		"there is no golden",
		{ golden: [] },
		"Upgrade after a review: 1 engine without a golden.",
		"has no golden",
	],
	[
		"a workload took longer in its own job",
		{ workloads: [buildWorkload({ head: buildStats(1.2) })] },
		"1 golden case matched, no workload was compared.",
		"",
	],
	[
		"a flag is gone",
		{
			findings: [
				{
					code: "precision-typed",
					severity: "warning",
					message: "No `--fp16`.",
					model: "encoder",
					engine: "fp16",
				},
			],
		},
		"Upgrade after a review: 1 new finding of preflight.",
		"`encoder`: No `--fp16`.",
	],
	[
		"the golden could not be judged",
		{ golden: [buildGolden({ state: "error", checks: [] })] },
		"Not decided: 1 engine that was not judged on both.",
		"was not judged on both in 1 of 1 golden case",
	],
])("an upgrade is decided if %s", (_, after, decision, fact) => {
	const [upgrade, ...others] = upgradesOf(merged(["11.2.1", after], ["10.6.0", {}]));
	expect(others).toEqual([]);
	expect(upgrade).toMatchObject({ from: "10.6.0", to: "11.2.1" });
	expect(upgrade?.decision).toContain(decision);
	expect(upgrade?.facts.map(({ says }) => says).join("\n")).toContain(fact);
	expect(upgrade?.plans).toContain("1 plan must be built again");
});

const wrongOf = (over: Partial<GoldenCheck>) =>
	buildGolden({ state: "mismatch", checks: [buildCheck({ got: 0.02, pass: false, ...over })] });
const { base: _, ...unknownBase } = buildCheck({ got: 0.02, pass: false });
const warning = buildCheck({
	metric: "top-k",
	severity: "warn",
	base: 0.02,
	got: 0.02,
	pass: false,
	existing: true,
});
/** Both sides of one revision. */
const oneRevision = { base: { label: "main", commit: "a1" }, head: { label: "main", commit: "a1" } };

const compared = (change: Partial<Comparison>) => [
	buildWorkload({ latency: { ...buildWorkload().latency, ...change } }),
];

it.each<[string, Partial<Result>, string, string]>([
	[
		"nothing changed",
		{},
		"Upgrade: 1 engine built, 1 golden case matched, none of 1 workload became slower.",
		"",
	],
	[
		"a workload is slower by little",
		{ workloads: compared({ verdict: "regressed", estimate: 0.021, interval: [0.018, 0.025] }) },
		"Upgrade after a review: 1 workload that slows down.",
		"+2.1 % time (+1.8 % … +2.5 %).",
	],
	[
		"pairs cannot tell",
		{ workloads: compared({ verdict: "inconclusive", estimate: 0.01, interval: [-0.02, 0.04] }) },
		"Upgrade after a review: 1 inconclusive workload.",
		"Inconclusive: ",
	],
	[
		"both engines are wrong",
		{
			golden: [
				buildGolden({
					state: "existing",
					checks: [buildCheck({ base: 0.02, got: 0.02, pass: false, existing: true })],
				}),
			],
		},
		"Upgrade after a review: 1 engine that matches on neither.",
		"matches its golden on neither",
	],
	[
		"a finding is new",
		{
			findings: [
				{ code: "a", severity: "warning", message: "Known.", arm: "head", model: "encoder" },
				{ code: "b", severity: "warning", message: "Gone.", arm: "head", model: "encoder", isNew: true },
			],
		},
		"Upgrade after a review: 1 new finding of preflight.",
		"`encoder`: Gone.",
	],
	...Object.entries({
		"the golden cannot be used": buildGolden({ state: "error", checks: [] }),
		"the golden is stale": buildGolden({ state: "stale", checks: [] }),
		"the base's engine gave no outputs": buildGolden({ state: "mismatch", checks: [unknownBase] }),
		"the base's outputs cannot be compared": wrongOf({ base: null }),
	}).map(([name, verdict]): [string, Partial<Result>, string, string] => [
		name,
		{ golden: [verdict] },
		"Not decided: 1 engine that was not judged on both.",
		"",
	]),
	...(["NaN", "Infinity"] as const).map((base): [string, Partial<Result>, string, string] => [
		`the base's engine gives ${base}`,
		{ golden: [wrongOf({ base })] },
		"Upgrade after a review: 1 engine that matches on neither.",
		"",
	]),
	[
		"both engines fail a check that only warns",
		{ golden: [buildGolden({ checks: [buildCheck({ base: 0.001, got: 0.001 }), warning], state: "match" })] },
		"Upgrade: 1 engine built",
		"",
	],
	[
		"the run was cut short",
		{ partial: { stage: "measure", reason: "The run was cancelled." } },
		"Not decided: 1 run that was cut short.",
		"A run ended early, in `measure`.",
	],
])("an upgrade within one run is decided if %s", (_, change, decision, fact) => {
	const { backend } = buildResult();
	const both = { backend: { ...backend, version: "11.2.1" }, baseBackend: { ...backend, version: "10.6.0" } };
	const builds = [buildBuild({ arm: "base" }), buildBuild()];
	const golden = [buildGolden({ checks: [buildCheck({ base: 0.001, got: 0.001 })] })];
	const calmRun = {
		workloads: compared({ verdict: "unchanged", estimate: 0.001, interval: [-0.001, 0.002] }),
		findings: [],
		golden,
	};
	const [upgrade, ...others] = upgradesOf({
		...buildResult(),
		...both,
		arms: oneRevision,
		builds,
		...calmRun,
		...change,
	});
	expect(others).toEqual([]);
	expect(upgrade).toMatchObject({ from: "10.6.0", to: "11.2.1" });
	expect(upgrade?.decision).toContain(decision);
	expect(upgrade?.facts.map(({ says }) => says).join("\n")).toContain(fact);
	expect(upgrade?.caveat).toContain("interleaved pairs on one GPU");
});

it("each newer version is compared with the oldest, and only on the same kind of device and with the same engines", () => {
	const versions = upgradesOf(merged(["10.15.1", {}], ["11.2.1", {}], ["10.6.0", {}])).map(
		({ from, to }) => `${from} ${to}`,
	);
	expect(versions).toEqual(["10.6.0 10.15.1", "10.6.0 11.2.1"]);
	expect(upgradesOf(merged(["10.6.0", {}], ["11.2.1", {}, "NVIDIA L4"]))).toEqual([]);
	expect(
		upgradesOf(merged(["10.6.0", {}], ["11.2.1", { builds: [buildBuild({ model: "other" })] }])),
	).toEqual([]);
	expect(upgradesOf(buildResult())).toEqual([]);
});

it.each<[string, Partial<Result["arms"]>, readonly [string, string], RegExp | null]>([
	["one revision on two versions", {}, ["10.6.0", "11.2.1"], null],
	[
		"two revisions",
		{ base: { label: "main", commit: "b2" } },
		["10.6.0", "11.2.1"],
		/differ in their files .*10\.6\.0 and 11\.2\.1/,
	],
	[
		"a commit and its changed folder",
		{ head: { label: "." } },
		["10.6.0", "11.2.1"],
		/differ in their files/,
	],
	[
		"one version twice",
		{},
		["10.6.0", "10.6.0"],
		/^Both sides run TensorRT 10\.6\.0, so this run compares no versions\.$/,
	],
])("only the same files on two versions decide an upgrade: %s", (_, change, [from, to], note) => {
	const { backend } = buildResult();
	const ran = {
		arms: { ...oneRevision, ...change },
		backend: { ...backend, version: to },
		baseBackend: { ...backend, version: from },
	};
	expect(upgradesOf({ ...buildResult(), ...ran })).toHaveLength(note === null ? 1 : 0);
	const notes = upgradeNotes(ran);
	expect(notes).toEqual(note === null ? [] : [expect.stringMatching(note)]);
});

it("a part that was cut short leaves the upgrade undecided", () => {
	const result = merged(["10.6.0", {}], ["11.2.1", {}]);
	const parts = result.parts?.map((part) =>
		part.name === "11.2.1" ? { ...part, partial: { stage: "build", reason: "x" } } : part,
	);
	expect(upgradesOf({ ...result, parts: parts ?? [] })[0]?.decision).toBe(
		"Not decided: 1 run that was cut short.",
	);
});

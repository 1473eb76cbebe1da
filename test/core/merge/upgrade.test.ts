import { expect, it } from "vitest";
import type {
	Comparison,
	Finding,
	GoldenCheck,
	GoldenVerdict,
	Result,
	UncoveredCause,
} from "../../../generated/result.ts";
import { upgradeNotes, upgradesOf } from "../../../src/core/merge/upgrade.ts";
import {
	buildBuild,
	buildCheck,
	buildComparison,
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
const { backend } = buildResult();

type Ran = readonly [version: string, records: Records, device?: string];

function merged(...ran: readonly Ran[]) {
	const of = <Key extends keyof typeof calm>(key: Key) =>
		ran.flatMap(([part, records]) =>
			(records[key] ?? calm[key]).map((record) => ({ ...record, part })),
		) as Result[Key];
	const parts = ran.map(([version, , device = "NVIDIA H200"]) => {
		return {
			name: version,
			state: "merged" as const,
			backend: { ...backend, version: version.trim(), device },
		};
	});
	const records = { builds: of("builds"), golden: of("golden"), workloads: of("workloads") };
	return { ...buildResult(), ...records, parts, findings: of("findings") };
}

const failed = (over: object) => {
	const failure = { code: "x", title: "No kernel.", fix: "", excerpt: [], ...over };
	return { builds: [buildBuild({ state: "refused", failure })], golden: [], workloads: [] };
};
const finding = (message: string, more: Partial<Finding> = {}): Finding => {
	return { code: message, severity: "warning", message, model: "encoder", ...more };
};
const golden = (state: GoldenVerdict["state"], ...checks: Partial<GoldenCheck>[]) => {
	return { golden: [buildGolden({ state, checks: checks.map(buildCheck) })] };
};
const openings = { stop: "Do not upgrade yet", unknown: "Not decided", review: "Upgrade after a review" };
type Decision = `${keyof typeof openings | "Upgrade" | "Not decided"}: ${string}`;

function expectUpgrade(result: Result, decision: Decision, fact: string) {
	const [upgrade, ...others] = upgradesOf(result);
	expect(others).toEqual([]);
	expect(upgrade).toMatchObject({ from: "10.6.0", to: "11.2.1" });
	expect(upgrade?.decision).toContain(decision.replace(/^[a-z]+/, (kind) => openings[kind as "stop"]));
	expect(upgrade?.facts.map(({ says }) => says).join("\n")).toContain(fact);
	expect(upgrade?.plans).toMatch(/^\d plans? must be built again/);
	return upgrade;
}

const drifted = "drifts in 1 of 1 golden case, such as `hidden` relative-l2 1e-3 → 2e-2 (allowed: 5e-3).";
const untimed = "Upgrade: 1 engine built, 1 golden case matched, no workload was compared.";
const longer = { workloads: [buildWorkload({ head: buildStats(1.2) })] };
const flag = { findings: [finding("No `--fp16`.", { engine: "fp16" })] };
const wrong = { got: 0.02, pass: false };
const onOneOnly = "unknown: 1 engine that was not judged on both.";

it.each<[string, Records, Decision, string]>([
	["only the times of two jobs differ", longer, untimed, ""],
	["a build fails", failed({}), "stop: 1 engine that no longer builds.", "builds: No kernel."],
	["the machine fails", failed({ kind: "runner" }), "unknown: 1 engine that the m", "fault of the machine"],
	["outputs drift", golden("mismatch", wrong), "stop: 1 engine that drifts.", drifted],
	["errors grow", golden("match", { got: 0.004 }), "review: 1 engine whose errors grow.", "1e-3 → 4e-3"],
	["there is no golden", { golden: [] }, "review: 1 engine without a golden.", "has no golden"],
	["a flag is gone", flag, "review: 1 new finding of preflight.", "`encoder`: No `--fp16`."],
	["nothing was judged", golden("error"), onOneOnly, "in 1 of 1 g"],
])("an upgrade is decided if %s", (_, after, decision, fact) => {
	expectUpgrade(merged(["11.2.1", after], ["10.6.0", {}]), decision, fact);
});

const bothWrong = { ...wrong, base: 0.02, existing: true } as const;
const topK = { ...bothWrong, metric: "top-k", severity: "warn" } as const;
const fine = { base: 0.001, got: 0.001 };
const { base: _, ...ofNoBase } = buildCheck(wrong);
const noBase = { golden: [buildGolden({ state: "mismatch", checks: [ofNoBase] })] };
const oneRevision = { base: { label: "main", commit: "a1" }, head: { label: "main", commit: "a1" } };
const versions = (base: string, head: string) => {
	return { backend: { ...backend, version: head }, baseBackend: { ...backend, version: base } };
};
const compared = (
	verdict: Comparison["verdict"],
	estimate: number | null,
	...ends: [] | [number, number]
) => {
	const interval = ends.length === 0 ? null : ends;
	const latency = buildComparison({ verdict, estimate, interval, reason: "Died." });
	return { workloads: [buildWorkload({ latency })] };
};
const machine = (...arms: readonly ("base" | "head")[]) => {
	const builds = (["base", "head"] as const).map((arm) =>
		arms.includes(arm) ? { ...failed({ kind: "runner" }).builds[0], arm } : buildBuild({ arm }),
	);
	return { builds, ...compared("not-comparable", null) } as Partial<Result>;
};

const converted = (cause: UncoveredCause) => {
	const lost = [{ layer: "conv1", precision: "fp32", share: 0.2, cause, at: "up" }];
	const changed = { lostCount: 1, lost, gainedCount: 1, gained: ["conv2"] };
	const precisionCoverage = {
		...{ precision: "fp16", multiplyAdds: 0.8, outsideCount: 1, outside: lost },
		changed,
	};
	const modelSha256 = "b".repeat(64);
	return { builds: [buildBuild({ arm: "base" }), buildBuild({ modelSha256, precisionCoverage })] };
};
const left = "1 node no longer in fp16: conv1 in fp32 (20.0 %; ";

const slower = compared("regressed", 0.021, 0.018, 0.025);
const open = compared("inconclusive", 0.01, -0.02, 0.04);
const findings = [finding("Known.", { arm: "head" }), finding("Gone.", { arm: "head", isNew: true })];
const [row] = slower.workloads as [Result["workloads"][number]];
const sweep = { model: row.model, engine: row.engine, workload: row.workload, dim: "sequence" };
const swept = { workloads: [], sweeps: [{ ...sweep, points: [{ size: 32, row }] }] };
const other = { ...failed({}).builds[0], engine: "int8" } as Result["builds"][number];
const neither = {
	builds: [...(["base", "head"] as const).flatMap((arm) => [buildBuild({ arm }), { ...other, arm }])],
};
const onlyNow = { builds: [{ ...failed({}).builds[0], arm: "base" } as never, buildBuild()], workloads: [] };
const onNone = {
	builds: neither.builds.filter(({ engine }) => engine === "int8"),
	workloads: [],
	golden: [],
};
const crashed = { kind: "runner", code: "tool-crashed", message: "Died." } as const;
const crash = { errors: [{ ...crashed, model: "encoder", engine: "fp16", arm: "head" as const }] };
const inTime = { errors: [{ ...crash.errors[0], workload: "batch 8" }] } as Partial<Result>;
const cut = { partial: { stage: "measure", reason: "The run was cancelled." } };
const none = "Upgrade: 1 engine built, 1 golden case matched, none of 1 workload became slower.";
const onNeither = "review: 1 engine that matches on neither.";

it.each<[string, Partial<Result>, Decision, fact?: string]>([
	["nothing changed", {}, none],
	["a workload is slower", slower, "review: 1 workload that slows", "+2.1 % time (+1.8 % … +2.5 %)."],
	["pairs cannot tell", open, "review: 1 inconclusive workload.", "Inconclusive: "],
	["both engines are wrong", golden("existing", bothWrong), onNeither, "its golden on neither"],
	["the base's engine gives NaN", golden("mismatch", { ...wrong, base: "NaN" }), onNeither],
	[
		"the conversion left float",
		converted("cast"),
		"review: 1 engine that loses its types.",
		`${left}the Cast up`,
	],
	["the builder chose float", converted("kernel"), none, `${left}the builder chose`],
	["the file is another", converted("kernel"), none, "is built from another ONNX file."],
	["a layer is now half", converted("kernel"), none, "1 node now in fp16: conv2."],
	["a finding is new", { findings }, "review: 1 new finding of preflight.", "`encoder`: Gone."],
	["the golden is stale", golden("stale"), onOneOnly],
	["the base gave no outputs", noBase, onOneOnly],
	["the new version crashes at the first case", { golden: [], ...crash }, onOneOnly, "on both: Died."],
	["the new version crashes at a later case", crash, onOneOnly, "on both: Died."],
	["a timed run crashes once more", inTime, none],
	["both fail a check that only warns", golden("match", fine, topK), "Upgrade: 1 engine built"],
	["a timed run crashes", compared("not-comparable", null), "unknown: 1 workload that was not", "Died."],
	["no run counts", compared("inconclusive", null), "unknown: 1 workload that was not", "Died."],
	["a size of a sweep is slower", swept, "review: 1 workload that slows", "+2.1 % time"],
	["the machine fails the base", machine("base"), "unknown: 1 engine that the m", "built on 10.6.0, by"],
	["the machine fails the head", machine("head"), "unknown: 1 engine that the m", "built on 11.2.1, by"],
	["the machine fails both", machine("base", "head"), "unknown: 1 engine that the m", "built on 10.6.0, by"],
	["another engine builds on neither", neither, none, "builds on neither: No kernel."],
	[
		"the base's plan is of another version",
		onlyNow,
		"review: 1 engine that builds only",
		"10.6.0: No kernel.",
	],
	["no engine builds", onNone, "Not decided: no engine builds on either version.", "neither: No kernel."],
	["the run was cut short", cut, "unknown: 1 run that was cut short.", "A run ended early, in `measure`."],
])("an upgrade within one run is decided if %s", (what, change, decision, fact = "") => {
	const calmRun = { ...compared("unchanged", 0.001, -0.001, 0.002), ...golden("match", fine) };
	const builds = [buildBuild({ arm: "base" }), buildBuild()];
	const ran = { ...buildResult(), ...versions("10.6.0", "11.2.1"), arms: oneRevision, builds, ...calmRun };
	const isTimed = !/machine|no engine|another version/.test(what);
	expect(expectUpgrade({ ...ran, ...change }, decision, fact)?.caveat).toContain(
		isTimed ? "interleaved pairs on one GPU" : "No workload was timed on both versions.",
	);
});

it("each newer version is compared with the oldest, on the same device and with the same engines", () => {
	const all = upgradesOf(merged(["10.15.1", {}], ["11.2.1", {}], ["10.6.0", {}]));
	expect(all.map(({ from, to }) => `${from} ${to}`)).toEqual(["10.6.0 10.15.1", "10.6.0 11.2.1"]);
	const other = { builds: [buildBuild({ model: "other" })] };
	const [l4, own] = ["NVIDIA L4", "NVIDIA H200"];
	const matrix = upgradesOf(
		merged(
			["10.6.0", {}],
			["10.6.0 ", other],
			["10.6.0  ", {}, l4],
			["11.2.1", {}],
			["11.2.1 ", other],
			["11.2.1  ", failed({}), l4],
		),
	);
	expect(matrix.map(({ device, decision }) => [device, decision.slice(0, 14)])).toEqual([
		[own, "Upgrade: 1 eng"],
		[own, "Upgrade after "],
		[l4, "Do not upgrade"],
	]);
	for (const newer of [["11.2.1", {}, "NVIDIA L4"] as const, ["11.2.1", other] as const])
		expect(upgradesOf(merged(["10.6.0", {}], newer))).toEqual([]);
	expect(upgradesOf(buildResult())).toEqual([]);
});

const filesDiffer = /differ in their files .*10\.6\.0 and 11\.2\.1/;
const noOther = /^Both sides run TensorRT 10\.6\.0, so this run compares no versions\.$/;

it.each<[string, Partial<Result["arms"]>, string, RegExp | null]>([
	["one revision on two versions", {}, "11.2.1", null],
	["two revisions", { base: { label: "main", commit: "b2" } }, "11.2.1", filesDiffer],
	["a commit and its changed folder", { head: { label: "." } }, "11.2.1", filesDiffer],
	["one version twice", {}, "10.6.0", noOther],
])("only the same files on two versions decide an upgrade: %s", (_, change, to, note) => {
	const ran = { arms: { ...oneRevision, ...change }, ...versions("10.6.0", to) };
	expect(upgradesOf({ ...buildResult(), ...ran })).toHaveLength(note === null ? 1 : 0);
	expect(upgradeNotes(ran)).toEqual(note === null ? [] : [expect.stringMatching(note)]);
});

it("a part that was cut short leaves the upgrade undecided", () => {
	const result = merged(["10.6.0", {}], ["11.2.1", {}]);
	const parts = result.parts?.map((part) => (part.name === "11.2.1" ? { ...part, ...cut } : part)) ?? [];
	expectUpgrade({ ...result, parts }, "unknown: 1 run that was cut short.", "in `measure`");
});

it("a plan that runs on both versions is not built again", () => {
	const plansOf = (to: string, recipe: object, sha: string) => {
		const was = buildBuild({ engineSha256: "a", recipe: { tensorrt: "10.6.0", ...recipe } });
		const ran = merged(
			["10.6.0", { builds: [was] }],
			[to, { builds: [{ ...was, engineSha256: sha, recipe: { ...was.recipe, tensorrt: to } }] }],
		);
		return upgradesOf(ran)[0]?.plans;
	};
	const portable = { flags: "--fp16 --versionCompatible" };
	expect(plansOf("10.15.1", {}, "b")).toMatch(/^1 plan must be built again/);
	expect(plansOf("10.15.1", {}, "a")).toMatch(/^0 plans must be built again/);
	expect(plansOf("10.15.1", portable, "b")).toMatch(/^0 plans must be built again/);
	expect(plansOf("11.2.1", portable, "b")).toMatch(/^1 plan must be built again/);
});

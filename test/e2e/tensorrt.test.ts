// Comparisons as they were recorded on one NVIDIA H200.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { parseProfile } from "../../src/formats/trtexec/layer-profile.ts";
import { parseLayerInfo } from "../../src/formats/trtexec/layers.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { expectExit, runCli } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";
import type { Replay } from "../support/replay/install.ts";

async function compare(replay: Replay, ...config: readonly [from: string, to: string][]) {
	const { run, result, folder } = await gateReplay(replay, { config });
	expectSchema(result, "result");
	return { run, result, out: join(folder, "out") };
}

it("a recorded comparison of a model with itself passes, unchanged, and excludes an effect of one percent", async () => {
	const { run, result, out } = await compare({ comparison: "same-model" });
	expectExit(run, 0);
	expect(result.outcome).toBe("pass");
	expect(result.backend).toMatchObject({
		kind: "tensorrt",
		name: "TensorRT",
		version: "10.6.0",
		device: "NVIDIA H200",
	});
	const [row] = result.workloads;
	expect(row?.verdict).toBe("unchanged");
	expect(row?.latency.excluded).toBeLessThan(0.01);
	expect(Math.abs(row?.latency.estimate ?? 1)).toBeLessThan(0.003);
	for (const { order, throughputPerSecond, meanMs = 0 } of row?.runs ?? []) {
		const [log = ""] = readdirSync(join(out, "logs")).filter(
			(name) => name.startsWith("measure-") && name.endsWith(`-${order}.log`),
		);
		const [, reported] = /Throughput: ([\d.]+) qps/.exec(readFileSync(join(out, "logs", log), "utf8")) ?? [];
		expect(throughputPerSecond).toBe(Number(reported));
		// What passes between two inferences counts too.
		expect(throughputPerSecond).toBeLessThan(0.98 * (1000 / meanMs));
	}
	expect(result.golden.map(({ state }) => state)).toEqual(["match", "match"]);
	expect(result.golden[0]?.checks[0]?.got).toBeCloseTo(1.212e-3, 6);
	expect(readFileSync(join(out, row?.runs[0]?.samples ?? "")).length).toBe(8 * 400);

	const [base, head] = result.builds;
	expect([base?.arm, head?.arm]).toEqual(["base", "head"]);
	expect(base?.notes?.join(" ")).toContain("Started the timing cache: 22 kernel timings.");
	expect(head?.notes?.join(" ")).toContain("22 kernel timings were there, 0 had to be measured.");
	for (const build of [base, head]) {
		expect(build).toMatchObject({ state: "built", engineKind: "TensorRT plan", engineBytes: 837068 });
		expect(build?.notes?.join(" ")).toMatch(/\d+ layers/);
		expect(build?.recipe?.["flags"]).toMatch(/--fp16 --minShapes=batch|--minShapes=tokens:1x1/);
		expect(build?.warnings.map((warning) => warning.class)).toContain("int64-binding");
		expect(readFileSync(build?.log ?? "", "utf8")).toContain("&&&& PASSED");
	}
	expect(readdirSync(join(out, "cache"))).toHaveLength(1);
	expect(result.environment).toMatchObject({
		tensorrt: "10.6.0",
		gpu: "NVIDIA H200",
		timing: "CUDA graph, spin wait, no transfers",
	});
	expect(result.notes.join(" ")).toMatch(/Golden cases ran in trtexec, one process each/);
});

it("a recorded comparison of a wider net warns at 2 % and does not fail at 10 %, and its golden fails as of another net", async () => {
	const { run, result, out } = await compare({ comparison: "slower-head" });
	const [row] = result.workloads;
	expect(row?.verdict).toBe("regressed");
	expect(row?.latency.estimate).toBeGreaterThan(0.037);
	expect(row?.latency.estimate).toBeLessThan(0.047);
	expect(result.gates.filter(({ gate }) => gate === "latency").map(({ status }) => status)).toEqual(["warn"]);
	expect(result.golden.map(({ state, modelChanged }) => [state, modelChanged])).toEqual([
		["mismatch", true],
		["mismatch", true],
	]);
	expect(run.exit).toBe(1);
	for (const { precisionCoverage: coverage } of result.builds) {
		expect(coverage).toMatchObject({ precision: "fp16", multiplyAdds: 1, known: 1, outside: [] });
		expect(coverage?.time).toBeGreaterThan(0.7);
	}
	const layers = result.files.filter(({ path }) => path.startsWith("layers/"));
	const [infos, profiles] = [true, false].map((isInfo) =>
		layers
			.filter(({ path }) => path.endsWith(".layers.json") === isInfo)
			.map(({ path }) => readFileSync(join(out, path), "utf8")),
	);
	expect(infos?.map((text) => parseLayerInfo(text).detail)).toEqual(["detailed", "detailed"]);
	expect(profiles?.map((text) => parseProfile(text).layers.length > 3)).toEqual(
		Array.from({ length: 10 }, () => true),
	);
	for (const paths of [
		["out/result.json", "out"],
		["out/engines/base", "out/engines/head"],
	]) {
		const diff = await runCli(["diff", ...paths], { cwd: dirname(out) });
		expect(diff.stdout, paths.join()).toContain(
			paths[0] === "out/engines/base" ? "block1 + block1.relu" : "the same kernels",
		);
	}
});

it("a recorded comparison of a net with one wrong tensor fails by its outputs, by name, at the same speed", async () => {
	const { run, result } = await compare({ comparison: "wrong-head" });
	expect(run.exit).toBe(1);
	expect(result.outcome).toBe("fail");
	expect(result.workloads[0]?.verdict).toBe("unchanged");
	const failing = result.golden.flatMap(({ checks }) =>
		checks.filter(({ pass }) => !pass).map(({ output }) => output),
	);
	expect([...new Set(failing)].sort()).toEqual(["logits_out", "mask"]);
	expect(run.stdout).toMatch(/logits_out/);
});

it("a recorded comparison builds and verifies one engine for both sides of an unchanged model, and times nothing", async () => {
	const { run, result, out } = await compare({ comparison: "same-model" }, [
		", unchanged-models: rebuild",
		"",
	]);
	expectExit(run, 0);
	const [base, head] = result.builds;
	expect([base?.sharedWithBase, head?.sharedWithBase]).toEqual([undefined, true]);
	expect(head?.enginePath).toBe(base?.enginePath);
	const logs = readdirSync(join(out, "logs"));
	expect(logs.filter((name) => name.startsWith("build-"))).toHaveLength(1);
	expect(logs.filter((name) => name.startsWith("measure-"))).toEqual([]);
	expect(result.workloads[0]).toMatchObject({
		verdict: "unchanged",
		runs: [],
		latency: { reason: expect.stringContaining("the same model and settings") },
	});
	expect(result.golden.map(({ state }) => state)).toEqual(["match", "match"]);
	const [check] = result.golden[0]?.checks ?? [];
	expect(check?.base).toBe(check?.got);
	expect(result.gates.find(({ gate }) => gate === "build")?.message).toContain("one engine serves both");
	expect(run.stdout).toMatch(/the\s+same\s+model\s+and\s+settings/);
});

it("a recorded comparison of rebuilds includes build-to-build variation in the interval, and says so", async () => {
	const buildFactors = { base: [1, 1.004, 0.996], head: [1, 1.03, 1.012] };
	const { result, out } = await compare({ comparison: "same-model", buildFactors }, [
		"unchanged-models: rebuild",
		"unchanged-models: rebuild, rebuilds: 3",
	]);
	const builds = readdirSync(join(out, "logs")).filter((name) => name.startsWith("build-"));
	expect(builds).toHaveLength(6);
	expect(existsSync(join(out, "cache"))).toBe(false);
	expect(result.builds[1]?.notes?.join(" ")).toContain("Built 3 times, without shared kernel timings");
	const [row] = result.workloads;
	expect(row).toMatchObject({ verdict: "inconclusive", latency: { builds: { count: 3 } } });
	expect(row?.latency.builds?.sd).toBeGreaterThan(0.005);
	for (const { pair, build } of row?.runs ?? []) expect(build).toBe(pair % 3);
	for (const name of ["report.html", "report.md"])
		expect(readFileSync(join(out, name), "utf8")).toMatch(/[Bb]uilds of the same model differ by ±1\.\d %/);
});

it("an engine that is declared int8 and runs in fp32 is found, and its layers are named", async () => {
	const { run, result } = await compare({ comparison: "wrong-head" }, ["precision: fp32", "precision: int8"]);
	const gates = result.gates.filter(({ gate }) => gate === "precision-coverage");
	expect(gates.map(({ status, message }) => [status, message])).toEqual([
		["warn", "0.0 % of the multiply-adds run in int8; in the base 0.0 %."],
	]);
	const head = result.builds.find(({ arm }) => arm === "head")?.precisionCoverage;
	expect(head?.outside[0]).toMatchObject({ precision: "fp32", cause: "no-qdq" });
	expect(run.stdout).toContain("is declared int8, and");
});

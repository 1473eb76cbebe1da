// Timed runs and golden cases by a trtexec that fails, lies or misbehaves, through the built bundle.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readResult, temporaryFolder, writeProject } from "../support/project.ts";
import { gateReplay } from "../support/replay/gate.ts";
import { comparisonFiles, installReplay, type ReplayFault } from "../support/replay/install.ts";

const short = [["warm-up: 300ms, duration: 1s", "warm-up: 1ms, duration: 100ms"]] as const;
const impatient = [...short, ["timeout: 5m", "timeout: 1s"]] as const;
const withoutGolden = ["    golden: golden/golden.json\n", ""] as const;

interface RunRow {
	what: string;
	fault: Omit<ReplayFault, "arm">;
	code: string;
	says: RegExp;
}

const runs: RunRow[] = [
	{ what: "hangs while it is timed", fault: { step: "perf", do: "hang" }, code: "tool-timeout", says: /\[timed-out\]/ },
	{ what: "is killed while it is timed", fault: { step: "perf", do: "kill", signal: "SIGKILL" }, code: "tool-crashed", says: /SIGKILL/ },
	{
		what: "dies of SIGSEGV while it is timed",
		fault: { step: "perf", do: "kill", signal: "SIGSEGV" },
		code: "tool-crashed",
		says: /SIGSEGV/,
	},
	{
		what: "leaves times that are cut off",
		fault: { step: "perf", do: "truncated-times" },
		code: "tool-output",
		says: /times file is truncated/,
	},
	{ what: "leaves a time that is NaN", fault: { step: "perf", do: "nan-times" }, code: "tool-output", says: /not a finite number/ },
	{ what: "leaves an infinite time", fault: { step: "perf", do: "infinite-times" }, code: "tool-output", says: /not a finite number/ },
	{ what: "leaves a time below 0", fault: { step: "perf", do: "negative-times" }, code: "tool-output", says: /not a list of entries/ },
	{ what: "leaves an empty list of times", fault: { step: "perf", do: "empty-times" }, code: "tool-output", says: /no iteration/ },
	{
		what: "leaves a page instead of times",
		fault: { step: "perf", do: "html-times" },
		code: "tool-output",
		says: /not a list|truncated/,
	},
	{ what: "leaves fewer times than it speaks of", fault: { step: "perf", do: "fewer-times" }, code: "tool-output", says: /reports 400/ },
	{
		what: "reports another throughput than its times give",
		fault: { step: "perf", do: "other-throughput" },
		code: "tool-output",
		says: /trtexec reports 123\.4/,
	},
	{ what: "leaves no times and says PASSED", fault: { step: "perf", do: "no-times" }, code: "tool-output", says: /export-missing/ },
	{
		what: "times without the CUDA graph that was asked for",
		fault: { step: "perf", do: "other-mode" },
		code: "tool-output",
		says: /no CUDA graph/,
	},
	{
		what: "is another version in the middle",
		fault: { step: "perf", from: 3, do: "other-version" },
		code: "tool-output",
		says: /10\.7\.0/,
	},
	{ what: "ends without its last line", fault: { step: "perf", do: "no-last-line" }, code: "tool-output", says: /ended-early/ },
	{
		what: "runs out of GPU memory",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-gpu-memory-context" },
		code: "tool-crashed",
		says: /gpu-memory-run/,
	},
	{
		what: "cannot load its plan",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-engine-truncated" },
		code: "tool-crashed",
		says: /plan-truncated/,
	},
	{
		what: "finds its plan gone",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-engine-no-file" },
		code: "tool-crashed",
		says: /plan-file-missing/,
	},
	{
		what: "finds its plan empty",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-engine-empty" },
		code: "tool-crashed",
		says: /plan-file-empty/,
	},
	{
		what: "is asked for a shape outside of the profile",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-shape-outside-profile" },
		code: "tool-crashed",
		says: /shape-outside-profile/,
	},
	{
		what: "finds no GPU any more after the build",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-no-gpu" },
		code: "tool-crashed",
		says: /sees no GPU\. \[no-gpu\]/,
	},
	{
		what: "finds no GPU any more for a golden case",
		fault: { step: "golden", do: "recording", recording: "10.6/fail-no-gpu" },
		code: "tool-crashed",
		says: /no-gpu/,
	},
	{ what: "is gone after the builds", fault: { step: "perf", do: "vanish" }, code: "tool-missing", says: /program-missing/ },
	{ what: "finds its plan damaged", fault: { step: "perf", do: "damaged-plan" }, code: "tool-output", says: /plan-damaged/ },
	{ what: "hangs on a golden case", fault: { step: "golden", do: "hang" }, code: "tool-timeout", says: /\[timed-out\]/ },
	{ what: "is killed on a golden case", fault: { step: "golden", do: "kill", signal: "SIGKILL" }, code: "tool-crashed", says: /SIGKILL/ },
	{
		what: "fails on a golden case and says nothing known",
		fault: { step: "golden", do: "exit", code: 7, says: "xyzzy" },
		code: "tool-crashed",
		says: /xyzzy/,
	},
];

describe("a trtexec that", () => {
	it.each(runs)("$what is the runner's fault: exit 3, and what was known is kept", async ({ fault, code, says }) => {
		const limits = fault.do === "hang" ? impatient : short;
		const config = fault.step === "golden" ? limits : [...limits, withoutGolden];
		const { run, result } = await gateReplay({ comparison: "same-model", faults: [{ arm: "head", ...fault }] }, { config });
		expect(run.exit, run.stdout + run.stderr).toBe(3);
		expect(result).toMatchObject({ outcome: "error", failureKind: "runner" });
		expect(result.errors.map((error) => error.code)).toContain(code);
		expect(JSON.stringify(result.errors)).toMatch(says);
		expect(result.builds.filter((build) => build.state === "built")).toHaveLength(2);
		if (fault.step === "perf") expect(result.workloads[0]?.verdict).toBe("not-comparable");
	});
});

describe("a golden case that", () => {
	it.each([
		["10.6/fail-input-unknown-name", "input-name-unknown"],
		["10.6/golden-data-dependent-fp32-0", "raw-dump-truncated"],
	])("trtexec refuses (%s) is an error of that case, reported as %s", async (recording, code) => {
		const { run, result } = await gateReplay(
			{ comparison: "same-model", faults: [{ step: "golden", arm: "head", do: "recording", recording }] },
			{ config: [...short, ["workloads: [{ batch: 4, sequence: 64 }]", "workloads: []"]] },
		);
		expect(run.exit, run.stdout).not.toBe(0);
		expect(JSON.stringify([result.golden, result.errors])).toContain(`[${code}]`);
	});

	it.each([
		["short-output", /bytes/],
		["no-output", /is not there/],
	] as const)("leaves a bad file (%s) is an error of that case, told by the output's name", async (fault, says) => {
		const { run, result } = await gateReplay(
			{ comparison: "same-model", faults: [{ step: "golden", arm: "head", do: fault }] },
			{ config: [...short, ["workloads: [{ batch: 4, sequence: 64 }]", "workloads: []"]] },
		);
		expect(run.exit, run.stdout).not.toBe(0);
		expect(JSON.stringify([result.golden, result.errors])).toMatch(says);
		expect(JSON.stringify([result.golden, result.errors])).toMatch(/hidden/);
	});
});

describe("a trtexec that works, and", () => {
	it("forks a child that outlives it leaves nothing behind", async () => {
		const pidFile = join(temporaryFolder(), "pid");
		const { run, result } = await gateReplay(
			{ comparison: "same-model", faults: [{ step: "perf", arm: "head", from: 0, do: "fork", pidFile }] },
			{ config: [withoutGolden] },
		);
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		expect(result.workloads[0]?.verdict).toBe("unchanged");
		const pid = Number(readFileSync(pidFile, "utf8"));
		expect(existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))).toBe(false);
	});

	it.each([
		["prints bytes that are no text", { do: "invalid-utf8-then-work" }],
		["floods its log with 100 MB of errors", { do: "flood-of-errors-then-work", bytes: 100e6, until: 1 }],
	] as const)("%s is measured all the same", async (_what, fault) => {
		const { run, result } = await gateReplay(
			{ comparison: "same-model", faults: [{ step: "perf", ...fault }] },
			{ config: [withoutGolden] },
		);
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		expect(result.workloads[0]?.latency.pairs).toBe(5);
	});

	it("fails once is replaced, counted and shown, and the verdict is unchanged", async () => {
		const faults: ReplayFault[] = [{ step: "perf", arm: "head", until: 1, do: "kill", signal: "SIGSEGV" }];
		const { run, result } = await gateReplay({ comparison: "same-model", faults }, { config: [withoutGolden] });
		expect(run.exit, run.stdout + run.stderr).toBe(0);
		expect(result.workloads[0]).toMatchObject({ verdict: "unchanged", replaced: 1 });
	});
});

/** User namespaces are not to be had everywhere. */
const canMount = ((): boolean => {
	try {
		execFileSync("unshare", ["-rm", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
})();

describe("a disk that fills while trtexec writes its times", () => {
	it.skipIf(!canMount)("is the runner's fault, by name (needs user namespaces)", () => {
		const folder = temporaryFolder();
		for (const arm of ["base", "head"] as const) {
			const files = comparisonFiles("same-model", arm);
			const config = String(files["trtgate.yml"]).replace(...withoutGolden);
			writeProject(join(folder, arm), { ...files, "trtgate.yml": config });
		}
		mkdirSync(join(folder, "small"));
		const cli = join(resolve(process.env["TRTGATE_DIST"] ?? "dist"), "cli.js");
		const script = `mount -t tmpfs -o size=40k tmpfs small && TMPDIR=$PWD/small exec "${process.execPath}" "${cli}" run --base base --head head --out out`;
		const env = {
			PATH: installReplay(folder, { comparison: "same-model", alone: true }),
			HOME: folder,
			TRTGATE_LOCKS: join(folder, ".locks"),
		};
		const run = spawnSync("unshare", ["-rm", "sh", "-c", script], { cwd: folder, env, encoding: "utf8" });
		expect(run.status, run.stdout + run.stderr).toBe(3);
		expect(run.stdout).toMatch(/The disk is full/);
		expect(readResult(join(folder, "out")).failureKind).toBe("runner");
	});
});

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { canMount, expectExit, readResult, temporaryFolder } from "../support/project.ts";
import { gateReplay, writeArms } from "../support/replay/gate.ts";
import { installReplay, type ReplayFault } from "../support/replay/install.ts";

const short = [["warm-up: 300ms, duration: 1s", "warm-up: 1ms, duration: 100ms"]] as const;
const impatient = [...short, ["timeout: 5m", "timeout: 1s"]] as const;
const withoutGolden = ["    golden: golden/golden.json\n", ""] as const;

const faults: readonly (readonly [
	what: string,
	fault: Omit<ReplayFault, "arm">,
	code: string,
	says: RegExp,
])[] = [
	["hangs while it is timed", { step: "perf", do: "hang" }, "tool-timeout", /\[timed-out\]/],
	["is killed while it is timed", { step: "perf", do: "kill", signal: "SIGKILL" }, "tool-crashed", /SIGKILL/],
	["leaves a time that is NaN", { step: "perf", do: "nan-times" }, "tool-output", /not a finite number/],
	[
		"is another version in the middle",
		{ step: "perf", from: 3, do: "other-version" },
		"tool-output",
		/10\.7\.0/,
	],
	["is gone after the builds", { step: "perf", do: "vanish" }, "tool-missing", /program-missing/],
	[
		"finds no GPU for a golden case",
		{ step: "golden", do: "recording", recording: "10.6/fail-no-gpu" },
		"tool-crashed",
		/no-gpu/,
	],
];

it.each(faults)(
	"a trtexec that %s is the runner's fault: exit 3, and what was known is kept",
	async (_what, fault, code, says) => {
		const limits = fault.do === "hang" ? impatient : short;
		const config = fault.step === "golden" ? limits : [...limits, withoutGolden];
		const { run, result } = await gateReplay(
			{ comparison: "same-model", faults: [{ arm: "head", ...fault }] },
			{ config },
		);
		expectExit(run, 3);
		expect(result).toMatchObject({ outcome: "error", failureKind: "runner" });
		expect(result.errors.map((error) => error.code)).toContain(code);
		expect(JSON.stringify(result.errors)).toMatch(says);
		expect(result.builds.filter((build) => build.state === "built")).toHaveLength(2);
		if (fault.step === "perf") expect(result.workloads[0]?.verdict).toBe("not-comparable");
	},
);

it("a golden case that trtexec refuses is an error of that case", async () => {
	const { run, result } = await gateReplay(
		{
			comparison: "same-model",
			faults: [{ step: "golden", arm: "head", do: "recording", recording: "10.6/fail-input-unknown-name" }],
		},
		{ config: [...short, ["workloads: [{ batch: 4, sequence: 64 }]", "workloads: []"]] },
	);
	expect(run.exit, run.stdout).not.toBe(0);
	expect(JSON.stringify([result.golden, result.errors])).toContain("[input-name-unknown]");
});

it("a trtexec that works, fails once and forks a child that outlives it changes no verdict: the run is replaced, and nothing left behind", async () => {
	const pidFile = join(temporaryFolder(), "pid");
	const faults: ReplayFault[] = [
		{ step: "perf", arm: "head", until: 1, do: "kill", signal: "SIGSEGV" },
		{ step: "perf", arm: "head", from: 0, do: "fork", pidFile },
	];
	const { run, result } = await gateReplay({ comparison: "same-model", faults }, { config: [withoutGolden] });
	expectExit(run, 0);
	expect(result.workloads[0]).toMatchObject({ verdict: "unchanged", replaced: 1 });
	const pid = Number(readFileSync(pidFile, "utf8"));
	expect(existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))).toBe(false);
});

it.skipIf(!canMount())(
	"a disk that fills while trtexec writes its times is the runner's fault, by name (needs user namespaces)",
	() => {
		const folder = writeArms(temporaryFolder(), "same-model", (config) => config.replace(...withoutGolden));
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
	},
);

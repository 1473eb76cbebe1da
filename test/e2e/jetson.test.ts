// A Jetson's files stand at their places in a mount namespace; its tools print what their documentation and real boards show.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { type ChildOutput, outputOf } from "../support/child-output.ts";
import { expectExit, readResult, temporaryFolder, writeProject } from "../support/project.ts";
import { writeArms } from "../support/replay/gate.ts";
import { installReplay } from "../support/replay/install.ts";

const dist = process.env["TRTGATE_DIST"] ?? resolve("dist");
const tegrastats =
	"RAM 6185/7620MB (lfb 8x2MB) EMC_FREQ 43%@2133 GR3D_FREQ 63%@[621] gpu@53.343C VDD_IN 12479mW/12479mW VDD_CPU_GPU_CV 4667mW/4667mW";

/** JetPack puts trtexec where no PATH leads. */
const board = `set -e
mount -t tmpfs none /sys/firmware
mkdir -p /sys/firmware/devicetree/base
printf 'NVIDIA Jetson AGX Orin Developer Kit\\0' > /sys/firmware/devicetree/base/model
mount -t tmpfs none /sys/class
mkdir -p /sys/class/devfreq/17000000.gpu
echo 306000000 > /sys/class/devfreq/17000000.gpu/min_freq
echo 1300500000 > /sys/class/devfreq/17000000.gpu/max_freq
mount --bind "$BOARD/etc" /etc
mount -t tmpfs none /usr/src
mkdir -p /usr/src/tensorrt/bin
cp "$BOARD/trtexec" /usr/src/tensorrt/bin/
exec "$@"
`;

const tools: Readonly<Record<string, string>> = {
	nvpmodel: 'echo "NVPM WARN: fan mode is not set!"; echo "NV Power Mode: MAXN"; echo 0',
	tegrastats: `case "$1" in
--help) echo "Usage: tegrastats [-option]" ;;
--interval) [ "$2" = 100 ] || exit 2; while :; do echo "${tegrastats}"; sleep 0.01; done ;;
esac`,
};

interface Jetson {
	folder: string;
	run(...argv: string[]): Promise<ChildOutput>;
}

function jetson(programs: Readonly<Record<string, string>>): Jetson {
	const folder = temporaryFolder();
	const [at, bin] = [join(folder, "board"), join(folder, "replay-bin")];
	const path = installReplay(folder, { comparison: "same-model", scale: 0.05, smi: null, alone: true });
	writeProject(at, {
		"etc/nv_tegra_release": "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64\n",
	});
	const program = (name: string, script: string): void => {
		writeFileSync(name, `#!/bin/sh\n${script}\n`);
		chmodSync(name, 0o755);
	};
	for (const [name, script] of Object.entries(programs)) program(join(bin, name), script);
	mkdirSync(join(folder, "recorded"));
	renameSync(join(bin, "trtexec"), join(folder, "recorded", "trtexec"));
	const orin = resolve("test/fixtures/tegra/trtexec-orin.txt");
	program(
		join(at, "trtexec"),
		`case "$*" in *nonexistent*) cat "${orin}"; exit 1 ;; esac\nexec "${folder}/recorded/trtexec" "$@"`,
	);
	program(join(folder, "on-board"), board);
	const env = {
		PATH: path,
		HOME: folder,
		XDG_CACHE_HOME: join(folder, "caches"),
		TRTGATE_LOCKS: folder,
		NO_COLOR: "1",
		BOARD: at,
	};
	const argv = [
		"--map-root-user",
		"--mount",
		join(folder, "on-board"),
		process.execPath,
		join(dist, "cli.js"),
	];
	return {
		folder,
		run: (...more) =>
			outputOf(spawn("unshare", [...argv, ...more], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] })),
	};
}

const test = it.skipIf(spawnSync("unshare", ["--map-root-user", "--mount", "true"]).status !== 0);

function gpuOf({ stdout }: ChildOutput): object {
	return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === "GPU");
}

test("doctor knows a Jetson, its power mode, and the trtexec of JetPack", async () => {
	const run = await jetson(tools).run("doctor", "--json");
	const status =
		"NVIDIA Jetson AGX Orin Developer Kit, L4T 36.4.4, power mode MAXN, GPU clock up to 1301 MHz";
	expect(gpuOf(run), run.stderr).toEqual({
		name: "GPU",
		weight: "want",
		ok: true,
		status,
		fix: expect.any(String),
	});
	expect(run.stdout).toContain("/usr/src/tensorrt/bin/trtexec");
});

test("doctor names the tools that a container of a Jetson lacks", async () => {
	expect(gpuOf(await jetson({}).run("doctor", "--json"))).toMatchObject({
		ok: false,
		status: expect.stringContaining("power mode unknown, GPU clock up to 1301 MHz; tegrastats is missing"),
		fix: expect.stringContaining("mount /usr/sbin/nvpmodel, /usr/bin/tegrastats"),
	});
});

test("a run on a Jetson keeps board and power mode in its fingerprint, and watches each run by tegrastats", async () => {
	const { folder, run } = jetson(tools);
	writeArms(folder, "same-model");
	expectExit(await run("run", "--base", "base", "--head", "head", "--out", "out"), 0);
	const { environment, workloads } = readResult(join(folder, "out"));
	expect(environment).toMatchObject({
		gpu: "Orin",
		board: "NVIDIA Jetson AGX Orin Developer Kit",
		l4t: "36.4.4",
		powerMode: "MAXN",
	});
	const watched = workloads[0]?.runs.filter(({ gpu }) => gpu !== undefined) ?? [];
	expect(watched.length).toBeGreaterThan(0);
	expect(watched[0]?.gpu).toMatchObject({ smClockMhz: { mean: 621 }, use: { source: "tegrastats" } });
});

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	boardFingerprint,
	gpuPowerOf,
	isGpuDevice,
	parsePowerMode,
	parseTegraRelease,
	parseTegrastats,
} from "../../../src/formats/tegra/tegrastats.ts";
import { parseDeviceSection } from "../../../src/formats/trtexec/banner.ts";

interface Printed {
	board: string;
	line: string;
	rail: string;
	idle: boolean;
	expect: object;
}

const { lines }: { lines: Printed[] } = JSON.parse(
	readFileSync("test/fixtures/tegra/tegrastats.json", "utf8"),
);

it.each(lines)("tegrastats is read on $board", ({ line, rail, idle, expect: expected }) => {
	expect(parseTegrastats(line, 7)).toEqual({ atMs: 7, ...expected, eventReasons: idle ? 1n : 0n });
	expect(gpuPowerOf(line)?.rail).toBe(rail);
});

it("tegrastats reports nothing in a line that holds no figures, and never throws", () => {
	expect(parseTegrastats("tegrastats: command not found", 0)).toBeNull();
	fc.assert(
		fc.property(
			fc.constantFrom(...lines),
			fc.nat(),
			({ line }, at) => void parseTegrastats(line.slice(at % line.length), 0),
		),
	);
});

// The release is of https://github.com/rbonghi/jetson_stats/issues/864, the warning of NVIDIA's forum, the mode of jetpack-nixos#460.
it.each([
	["# R36 (release), REVISION: 4.4, GCID: 41062509, DATE: Mon Jun 16 16:07:13 UTC 2025\n", "36.4.4"],
	["# R39 (release), REVISION: 2.0, GCID: 45755727\n# KERNEL_VARIANT: oot\n", "39.2.0"],
	["# R34 (release), REVISION: 1.2, GCID: 32090851, BOARD: t186ref", "34.1.2"],
	["", null],
])("a Jetson knows the release of %j", (text, release) => {
	expect(parseTegraRelease(text)).toBe(release);
});

it.each([
	["NV Power Mode: MAXN\n0\n", "MAXN"],
	["NVPM WARN: fan mode is not set!\nNV Power Mode: MODE_15W\n2\n", "MODE_15W"],
	["NVPM ERROR: must be root\n", null],
])("a Jetson knows the power mode of %j", (text, mode) => {
	expect(parsePowerMode(text)).toBe(mode);
});

it("a Jetson's fixed clocks are distinguished from those that follow the load", () => {
	const known = { l4t: "36.4.4", powerMode: "MAXN" };
	const clockOf = (minMhz: number) =>
		boardFingerprint({ ...known, model: "Orin", gpuClock: { minMhz, maxMhz: 1301 } });
	expect(clockOf(306)).toEqual({ ...known, board: "Orin", gpuClock: "up to 1301 MHz" });
	expect(clockOf(1301)).toEqual({ ...known, board: "Orin", gpuClock: "1301 MHz, fixed" });
	expect(["17000000.gpu", "17000000.ga10b", "17000000.gv11b"].every(isGpuDevice)).toBe(true);
	expect(isGpuDevice("15340000.vic")).toBe(false);
});

it("a Jetson takes the facts of trtexec's own section on its device, with or without a UUID", () => {
	const text = readFileSync("test/fixtures/tegra/trtexec-orin.txt", "utf8");
	const uuid = "GPU-00000000-0000-0000-0000-000000000000";
	const orin = { name: "Orin", uuid, computeCapability: "8.7", memoryBytes: 15536 * 1024 ** 2 };
	expect(parseDeviceSection(text)).toEqual(orin);
	expect(parseDeviceSection(text.replace(/^.*UUID.*\n/gm, ""))).toEqual({ ...orin, uuid: null });
	expect(parseDeviceSection("&&&& FAILED")).toBeNull();
});

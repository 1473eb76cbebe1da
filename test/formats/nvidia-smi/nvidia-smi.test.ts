import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	findGpu,
	type Gpu,
	gpuFingerprint,
	memoryOf,
	parseGpus,
} from "../../../src/formats/nvidia-smi/gpus.ts";
import {
	appsArgs,
	cellMask,
	cellNumber,
	cellText,
	chooseFields,
	dmonParser,
	gpmArgs,
	hasGpm,
	inventoryFields,
	parseAppLine,
	parseHelpFields,
	parseSampleLine,
	queryArgs,
	sampleFields,
	useSampleOf,
} from "../../../src/formats/nvidia-smi/rows.ts";

const fixture = (name: string) => readFileSync(`test/fixtures/nvidia-smi/${name}`, "utf8");
const offered = parseHelpFields(fixture("h200-help-query-gpu.txt"));
const asked = chooseFields(sampleFields, offered);

it("uses new names from a new driver", () => {
	expect(offered.size).toBeGreaterThan(100);
	expect(asked.map(({ name }) => name).join()).toBe(
		"clocks.sm,clocks.mem,power.draw,temperature.gpu,memory.used,utilization.gpu,utilization.memory,clocks_event_reasons.active",
	);
	expect(chooseFields(inventoryFields, offered)).toHaveLength(inventoryFields.length);
});

it("uses the old name if a driver knows no other, and leaves out missing fields", () => {
	const help =
		'"clocks.current.sm" or "clocks.sm"\nThe frequency.\n\n"clocks_throttle_reasons.active"\n"with spaces" text\n';
	const names = chooseFields(sampleFields, parseHelpFields(help)).map(({ name }) => name);
	expect(names).toEqual(["clocks.sm", "clocks_throttle_reasons.active"]);
});

it("args queries the selected field names", () => {
	const format = "--format=csv,noheader,nounits";
	expect(queryArgs(asked.slice(0, 2), { gpu: "GPU-1", everyMs: 100 }).join(" ")).toBe(
		`-i GPU-1 --query-gpu=clocks.sm,clocks.mem ${format} -lms 100`,
	);
	expect(appsArgs().join(" ")).toBe(
		`--query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_gpu_memory ${format}`,
	);
	expect(gpmArgs("GPU-1").join(" ")).toBe("dmon -i GPU-1 -s u -d 1 --gpm-metrics=2,3,5,10");
});

it.each([
	...["[N/A]", "N/A", "[Not Supported]", "Not Supported", "[Insufficient Permissions]", "[Unknown Error]"],
	...["Unknown Error", "ERR!", "-", "", "[Requested functionality has been deprecated]", "[GPU is lost]"],
])("takes %j for no value", (text) => {
	expect([cellText(text), cellNumber(text)]).toEqual([null, null]);
});

it.each([
	["691.36 W", 691.36],
	["52 %", 52],
	["143771 MiB", 143771],
	["0", 0],
	["1e9", null],
	["0x4", null],
	["12 apples", null],
	["9".repeat(400), null],
])("reads %j as %s", (text, value) => {
	expect(cellNumber(text)).toBe(value);
});

it.each([
	["0x0000000000000004", 4n],
	["0xFFFFFFFFFFFFFFFF", 2n ** 64n - 1n],
	["0x10000000000000000", null],
	["4", null],
])("reads the mask %s as %s", (text, mask) => {
	expect(cellMask(text)).toBe(mask);
});

const row = "1530, 3201, 691.36, 55, 1139, 100, 25, 0x0000000000000004";

it("reads a row of samples", () => {
	const sample = {
		...{ atMs: 7, smClockMhz: 1530, memoryClockMhz: 3201, powerW: 691.36, temperatureC: 55 },
		...{ memoryUsedBytes: 1139 * 1024 * 1024, kernelTime: 1, memoryTime: 0.25, eventReasons: 4n },
	};
	expect(parseSampleLine(row, asked, 7)).toEqual({ state: "sample", sample });
});

it("makes of cells without a value nulls, whatever their words", () => {
	const cells = "1530, [N/A], [Unknown Error], N/A, [Insufficient Permissions], ERR!, [Not Supported], [N/A]";
	expect(parseSampleLine(cells, asked, 0)).toMatchObject({
		state: "sample",
		sample: { smClockMhz: 1530, powerW: null, memoryUsedBytes: null, eventReasons: null },
	});
});

it.each([
	["half a row", row.slice(0, 30), "skipped"],
	["more columns", `${row}, 12`, "skipped"],
	["no value at all", asked.map(() => "[N/A]").join(", "), "skipped"],
	["a blank line", "   ", "skipped"],
	["a lost GPU", "GPU is lost", "lost"],
	["a lost GPU in a cell", row.replace("1139", "[GPU is lost]"), "lost"],
	[
		"a driver that went",
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
		"lost",
	],
	["a GPU off the bus", "Unable to determine the device handle for GPU0000:00:06.0: Unknown Error", "lost"],
])("takes a row of %s for what it is", (_, line, state) => {
	expect(parseSampleLine(line, asked, 0).state).toBe(state);
});

it("reads every recorded row under load", () => {
	const [header, ...rows] = fixture("h200-query-load.csv").trim().split("\n");
	const fields = header!
		.split(", ")
		.map((name) => ({ key: name.replace(/ \[.*/, "").replace("clocks.current.sm", "clocks.sm"), name }));
	const samples = rows
		.map((line) => parseSampleLine(line, fields, 0))
		.flatMap((read) => (read.state === "sample" ? [read.sample] : []));
	expect(samples).toHaveLength(59);
	for (const { smClockMhz, powerW } of samples) {
		expect(Math.abs((smClockMhz ?? 0) - 1162)).toBeLessThanOrEqual(818);
		expect(powerW).toEqual(expect.any(Number));
	}
});

it("the parser of processes reads the recorded row", () => {
	const [, line] = fixture("h200-compute-apps-load.csv").split("\n");
	expect(parseAppLine(line!)).toEqual({
		gpuUuid: "GPU-00000000-0000-0000-0000-000000000000",
		pid: 434,
		name: "python3",
		memoryBytes: 1130 * 1024 * 1024,
	});
});

const denied = "[Insufficient Permissions]";
it.each([
	["t, GPU-4, 2151955, [Not Found], 56510", { pid: 2151955, name: "" }],
	[`t, GPU-4, ${denied}, ${denied}, ${denied}`, { pid: null, name: "", memoryBytes: null }],
	["t, GPU-4, 79, /opt/a, b/c, [N/A]", { pid: 79, name: "/opt/a, b/c", memoryBytes: null }],
])("the parser of processes reads %j", (line, row) => {
	expect(parseAppLine(line)).toMatchObject(row);
});

const noRows = ["", "No running processes found", "a, b, c, d, e", "t, GPU-4, 79"];
it.each(noRows)("the parser of processes takes %j for no row", (line) => {
	expect(parseAppLine(line)).toBeNull();
});

const rowsOf = (name: string, parser: ReturnType<typeof dmonParser>) =>
	fixture(name)
		.split("\n")
		.flatMap((line) => parser.push(line) ?? []);

it("dmon reads hardware counters by the names of their columns; the first row has none yet", () => {
	const parser = dmonParser();
	const rows = rowsOf("h200-dmon-gpm.txt", parser);
	expect(hasGpm(parser.columns())).toBe(true);
	expect(rows).toHaveLength(10);
	expect(rows.slice(0, 3).map((row) => useSampleOf(row, 5))).toEqual([
		null,
		null,
		{ atMs: 5, smUtilisation: 0.44, smOccupancy: 0.08, tensorActivity: 0.16, memoryBandwidth: 0.02 },
	]);
});

it("dmon knows a dmon without them", () => {
	const parser = dmonParser();
	const rows = rowsOf("h200-dmon.txt", parser);
	expect(rows.length).toBeGreaterThan(10);
	expect(hasGpm(parser.columns())).toBe(false);
	expect(rows[0]?.get("pclk")).toBe("345");
	expect(useSampleOf(rows[0]!, 0)).toBeNull();
});

const fields = chooseFields(inventoryFields, offered);
const line = (index: number, uuid: string) =>
	`${index}, ${uuid}, NVIDIA H200, 580.159.04, 9.0, 143771, 700.00, 650.00, Enabled, Enabled, Disabled`;
const list = [
	"GPU 0: NVIDIA H200 (UUID: GPU-aa11)",
	"  MIG 1c.3g.71gb  Device  0: (UUID: MIG-0000)",
	"  MIG 2g.35gb     Device  2: (UUID: MIG-0002)",
	"GPU 1: NVIDIA H200 (UUID: GPU-ab22)",
].join("\n");
const gpus = parseGpus(`${line(0, "GPU-aa11")}\n${line(1, "GPU-ab22")}\n`, fields, list);

it("reads what GPUs are", () => {
	expect(gpus).toHaveLength(2);
	expect(gpus[0]).toEqual({
		...{ index: 0, uuid: "GPU-aa11", name: "NVIDIA H200", driver: "580.159.04", computeCapability: "9.0" },
		...{ memoryBytes: 143771 * 1024 * 1024, powerLimitW: 650, mig: "Enabled", ecc: "Enabled" },
		displayActive: "Disabled",
		slices: [
			{ profile: "1c.3g.71gb", uuid: "MIG-0000" },
			{ profile: "2g.35gb", uuid: "MIG-0002" },
		],
	} satisfies Gpu);
});

it.each([
	[undefined, "GPU-aa11", null],
	["1", "GPU-ab22", null],
	["1,0", "GPU-ab22", null],
	["GPU-ab22", "GPU-ab22", null],
	["GPU-ab", "GPU-ab22", null],
	["MIG-0002", "GPU-aa11", "2g.35gb"],
])("finds the GPU %s", (wanted, uuid, profile) => {
	const found = findGpu(gpus, wanted);
	expect([found?.gpu.uuid, found?.slice?.profile ?? null]).toEqual([uuid, profile]);
});

it.each(["", "7", "GPU-a", "GPU-", "GPU-zz", "MIG-9", "void", "none", "-1"])(
	"finds no GPU for %j",
	(name) => {
		expect(findGpu(gpus, name)).toBeNull();
	},
);

it("reports what must match before numbers may be compared", () => {
	expect(gpuFingerprint(findGpu(gpus, "MIG-0002")!)).toEqual({
		...{ gpu: "NVIDIA H200", computeCapability: "9.0", driverBranch: "580" },
		...{ powerLimit: "650 W", ecc: "Enabled", mig: "2g.35gb" },
	});
});

it.each([
	["MIG-0000", 71 * 1024 ** 3],
	["MIG-0002", 35 * 1024 ** 3],
	// Sliced, and no slice chosen: its memory belongs to the slices.
	["GPU-aa11", null],
])("knows how much memory %s has at most", (wanted, bytes) => {
	expect(memoryOf(findGpu(gpus, wanted)!)).toBe(bytes);
	const whole = gpus.map((gpu) => ({ ...gpu, mig: "Disabled" }));
	expect(memoryOf(findGpu(whole, "GPU-ab22")!)).toBe(143771 * 1024 * 1024);
});

it("reads any row of samples without an error", () => {
	fc.assert(fc.property(fc.string({ unit: "binary" }), (line) => void parseSampleLine(line, asked, 0)));
});

// NVIDIA's data sheets: dense, at boost clock.
import { expect, it } from "vitest";
import { rooflineOf } from "../../../src/engine/core/facts.ts";

const work = { bytes: 1e6, operations: 1e6, precision: "fp16", timeMs: 1 };
const limitsOf = (gpu: string) =>
	[{ bytes: 1e9 }, { operations: 1e15 }].map((much) => rooflineOf({ ...work, ...much }, gpu)?.limit);

it.each([
	["NVIDIA H200", "4.8 TB/s", "989 TFLOP/s"],
	["NVIDIA H200 NVL", "4.8 TB/s", "836 TFLOP/s"],
	["NVIDIA H100 80GB HBM3", "3.35 TB/s", "989 TFLOP/s"],
	["NVIDIA H100 PCIe", "2 TB/s", "756 TFLOP/s"],
	["NVIDIA H100 NVL", "3.9 TB/s", "836 TFLOP/s"],
	["NVIDIA A100-SXM4-80GB", "2.039 TB/s", "312 TFLOP/s"],
	["NVIDIA A100 80GB PCIe", "1.935 TB/s", "312 TFLOP/s"],
	["NVIDIA A100-SXM4-40GB", "1.555 TB/s", "312 TFLOP/s"],
	["NVIDIA L4", "0.3 TB/s", "121 TFLOP/s"],
	["NVIDIA L40S", "0.864 TB/s", "362 TFLOP/s"],
	["Tesla T4", "0.3 TB/s", "65 TFLOP/s"],
	["Orin (nvgpu)", "0.2048 TB/s", "42.5 TFLOP/s"],
])("rooflineOf knows the limits of %s", (gpu, memory, compute) => {
	expect(limitsOf(gpu)).toEqual([memory, compute]);
});

it.each(["NVIDIA L40", "NVIDIA GH200 480GB", "Orin NX", "Jetson Orin Nano", "NVIDIA GeForce RTX 4090"])(
	"rooflineOf is silent about %s",
	(gpu) => {
		expect(limitsOf(gpu)).toEqual([undefined, undefined]);
	},
);

it("rooflineOf calls a layer that is far from both limits latency-bound, and needs bytes and a time", () => {
	expect(rooflineOf(work, "NVIDIA H200")?.bound).toBe("latency");
	expect(rooflineOf({ ...work, bytes: null }, "NVIDIA H200")).toBeNull();
	expect(rooflineOf({ ...work, timeMs: 0 }, "NVIDIA H200")).toBeNull();
});

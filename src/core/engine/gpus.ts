// What GPUs can do at most, and which limit a layer is near. Dense figures, without sparsity, at boost clock.

interface GpuLimits {
	name: RegExp;
	/** Terabytes a second. */
	memory: number;
	/** Tera-operations a second, by precision. */
	compute: Readonly<Record<string, number>>;
	source: string;
}

const ampere = { fp32: 19.5, tf32: 156, fp16: 312, bf16: 312, int8: 624 };
const hopperNvl = { fp32: 60, tf32: 418, fp16: 836, bf16: 836, fp8: 1671, int8: 1671 };
const hopper = { fp32: 67, tf32: 494, fp16: 989, bf16: 989, fp8: 1979, int8: 1979 };

const gpus: readonly GpuLimits[] = [
	{ name: /\bH200 NVL\b/, memory: 4.8, compute: hopperNvl, source: "H200 datasheet" },
	{ name: /\bH200\b/, memory: 4.8, compute: hopper, source: "H200 datasheet" },
	{
		name: /\bH100 PCIe\b/,
		memory: 2,
		compute: { fp32: 51, tf32: 378, fp16: 756, bf16: 756, fp8: 1513, int8: 1513 },
		source: "H100 datasheet",
	},
	{ name: /\bH100 NVL\b/, memory: 3.9, compute: hopperNvl, source: "H100 NVL datasheet" },
	{ name: /\bH100\b/, memory: 3.35, compute: hopper, source: "H100 datasheet" },
	{ name: /\bA100 80 ?GB PCIe\b/, memory: 1.935, compute: ampere, source: "A100 80GB datasheet" },
	{ name: /\bA100\b.*\b80 ?GB/, memory: 2.039, compute: ampere, source: "A100 80GB datasheet" },
	{ name: /\bA100\b/, memory: 1.555, compute: ampere, source: "A100 datasheet" },
	{
		name: /\bL40S\b/,
		memory: 0.864,
		compute: { fp32: 91.6, tf32: 183, fp16: 362, bf16: 362, fp8: 733, int8: 733 },
		source: "L40S datasheet",
	},
	{
		name: /\bL4\b/,
		memory: 0.3,
		compute: { fp32: 30.3, tf32: 60, fp16: 121, bf16: 121, fp8: 242, int8: 242 },
		source: "L4 datasheet",
	},
	{ name: /\bT4\b/, memory: 0.3, compute: { fp32: 8.1, fp16: 65, int8: 130 }, source: "T4 datasheet" },
	// The NX and Nano modules have other limits.
	{
		name: /\bOrin\b(?!.*\b(?:NX|Nano)\b)/,
		memory: 0.2048,
		compute: { fp32: 5.3, fp16: 42.5, int8: 85 },
		source: "Jetson AGX Orin series technical brief",
	},
];

export interface Roofline {
	/** latency: far from both limits, so that starting and waiting take most of the time. */
	bound: "memory" | "compute" | "latency";
	/** Of the limit that is nearer, 0 to 1. */
	share: number;
	/** `4.8 TB/s`, `989 TFLOP/s`. */
	limit: string;
}

export interface RanWork {
	bytes: number | null;
	operations: number | null;
	precision: string | null;
	timeMs: number;
}

const far = 0.25;

export function rooflineOf(
	{ bytes, operations, precision, timeMs }: RanWork,
	gpuName: string | null,
): Roofline | null {
	const gpu = gpus.find(({ name }) => gpuName !== null && name.test(gpuName));
	if (gpu === undefined || bytes === null || !(timeMs > 0)) return null;
	const moved = bytes / (timeMs * 1e9) / gpu.memory;
	const peak = gpu.compute[precision ?? ""];
	const computed = peak === undefined || operations === null ? 0 : operations / (timeMs * 1e9) / peak;
	const share = Math.min(1, Math.max(moved, computed));
	const isCompute = computed > moved;
	const limit = isCompute
		? `${peak} ${precision?.startsWith("int") ? "TOP/s" : "TFLOP/s"}`
		: `${gpu.memory} TB/s`;
	return { bound: share < far ? "latency" : isCompute ? "compute" : "memory", share, limit };
}

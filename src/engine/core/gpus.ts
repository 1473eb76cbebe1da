// Peak figures of GPUs (dense, at boost clock), and which limit a layer is near.
import limits from "../../../data/gpu-limits.json" with { type: "json" };

/** `memory` in TB/s, `compute` in tera-operations a second by precision; the first that fits the GPU's name. */
const gpus = limits.map(({ name, memory, compute }) => ({
	name: new RegExp(name),
	memory,
	compute: new Map<string, number>(Object.entries(compute)),
}));

interface Roofline {
	bound: "memory" | "compute" | "latency";
	share: number;
	limit: string;
}

interface RanWork {
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
	const peak = gpu.compute.get(precision ?? "");
	const computed = peak === undefined || operations === null ? 0 : operations / (timeMs * 1e9) / peak;
	const share = Math.min(1, Math.max(moved, computed));
	const isCompute = computed > moved;
	const limit = isCompute
		? `${peak} ${precision?.startsWith("int") ? "TOP/s" : "TFLOP/s"}`
		: `${gpu.memory} TB/s`;
	return { bound: share < far ? "latency" : isCompute ? "compute" : "memory", share, limit };
}

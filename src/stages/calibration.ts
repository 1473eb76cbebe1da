// Reads the inputs that an INT8 engine is calibrated on, and compares the ranges that came of them.
import { ConfigError } from "../core/errors.ts";
import { rangeDrift } from "../engine/core/range-drift.ts";
import { elementCount, isFloating, type Tensor } from "../golden/core/tensor/tensor.ts";
import { chunkElements, float64Reader } from "../golden/core/tensor/values.ts";
import { readTensors } from "../golden/stages/load-goldens.ts";
import type { Backend, BuiltEngine } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";

/** One case at a time. @throws ConfigError golden-missing, tensor-invalid, path-outside-workspace. */
export async function* calibrationInputs(
	{ assets }: Pick<BuiltEngine, "assets">,
	ports: Pick<Ports, "files" | "tensors">,
): AsyncGenerator<Readonly<Record<string, Tensor>>> {
	const { cases = [], path = "" } = assets?.calibration ?? {};
	for (const { id, inputs } of cases) {
		const tensors = await readTensors(inputs, path, ports);
		const wrong = Object.keys(tensors).find((name) => !isWhole(tensors[name]));
		if (wrong === undefined) yield tensors;
		else
			throw new ConfigError({
				code: "tensor-invalid",
				message: `Calibration data ${path}: input ${JSON.stringify(wrong)} of case ${JSON.stringify(id)} has NaN or infinite values, from which no range follows.`,
				fix: "Replace the case or leave it out.",
			});
	}
}

function isWhole(tensor: Tensor | undefined): boolean {
	if (tensor === undefined || !isFloating(tensor.dtype)) return true;
	const read = float64Reader(tensor);
	const total = elementCount(tensor.shape);
	for (let at = 0; at < total; at += chunkElements)
		if (!read(at, Math.min(chunkElements, total - at)).every(Number.isFinite)) return false;
	return true;
}

/** With its calibration recorded, and the cache in place of the data. */
export async function withCalibration(
	engine: BuiltEngine,
	base: BuiltEngine | undefined,
	backend: Pick<Backend, "calibrationOf">,
): Promise<BuiltEngine> {
	const { assets, spec } = engine;
	const found = (await backend.calibrationOf?.(engine)) ?? null;
	if (assets?.calibration === undefined || found === null) return engine;
	const { sha256, cases } = assets.calibration;
	const was = base === undefined ? null : await backend.calibrationOf?.(base);
	const calibration = {
		...spec.engine.tensorrt.calibration?.data,
		...(cases === undefined ? {} : { cases: cases.length, dataSha256: sha256 }),
		tensors: found.ranges.size,
		...(was && rangeDrift(was.ranges, found.ranges)),
	};
	const own = { ...assets, calibration: { path: found.path, sha256 } };
	return { ...engine, record: { ...engine.record, calibration }, assets: own };
}

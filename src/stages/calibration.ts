// Reads the cases that an INT8 engine is calibrated on, and compares the ranges that came of them.

import type { RangeChange } from "../../generated/result.ts";
import { ConfigError } from "../core/errors.ts";
import { isAllFinite } from "../golden/core/tensor/values.ts";
import { readTensors } from "../golden/stages/load-goldens.ts";
import type { Backend, BuiltEngine, InferCase } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";

/** One at a time. @throws ConfigError golden-missing, tensor-invalid, path-outside-workspace. */
export async function* calibrationCases(
	{ assets }: Pick<BuiltEngine, "assets">,
	ports: Pick<Ports, "files" | "tensors">,
): AsyncGenerator<InferCase> {
	const { cases = [], path = "" } = assets?.calibration ?? {};
	for (const { id, inputs: files } of cases) {
		const inputs = await readTensors(files, path, ports);
		for (const [name, tensor] of Object.entries(inputs)) if (!isAllFinite(tensor)) throw notFinite(id, name);
		yield { id, inputs };
	}
}

function notFinite(id: string, input: string) {
	const place = `Input ${JSON.stringify(input)} of calibration case ${JSON.stringify(id)}`;
	const message = `${place} has NaN or infinite values, from which no range follows.`;
	return new ConfigError({ code: "tensor-invalid", message, fix: "Replace the case or leave it out." });
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
	const was = base && (await backend.calibrationOf?.(base));
	const calibration = {
		method: spec.engine.tensorrt.calibration?.data?.method,
		...(cases && { cases: cases.length, dataSha256: sha256 }),
		tensors: found.ranges.size,
		...(was && rangeDrift(was.ranges, found.ranges)),
	};
	const own = { ...assets, calibration: { path: found.path, sha256 } };
	return { ...engine, record: { ...engine.record, calibration }, assets: own };
}

type Ranges = ReadonlyMap<string, number>;

const mostShown = 10;
const factorOf = ({ base, head }: RangeChange) => Math.max(base, head) / Math.min(base, head);

export function rangeDrift(base: Ranges, head: Ranges): { changed: number; drift: RangeChange[] } {
	const changes = [...head].flatMap(([tensor, is]) => {
		const was = base.get(tensor);
		return was === undefined || was === is ? [] : [{ tensor, base: was, head: is }];
	});
	const both = [...head.keys()].filter((tensor) => base.has(tensor)).length;
	const drift = changes.sort((one, other) => (factorOf(one) < factorOf(other) ? 1 : -1)).slice(0, mostShown);
	return { changed: changes.length + base.size + head.size - 2 * both, drift };
}

// Packs the golden cases that one verdict is about, as a golden of their own.
import type { GoldenCase, GoldenManifest, GoldenOutput } from "../../../generated/golden.ts";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { ConfigError } from "../../core/errors.ts";
import type { EngineSpec } from "../../core/plan/plan.ts";
import type { Ports } from "../../ports/ports.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { packCase, type TensorPacker } from "../core/manifest/draft.ts";
import { findInsensitive } from "../core/record/sensitivity.ts";
import { tensorBytes } from "../core/tensor/tensor.ts";
import { composeBatches } from "../core/timed/compose.ts";
import { type GoldenSet, readTensors } from "./load-goldens.ts";
import { asCase, type ReadCase } from "./timed-sizes.ts";

export interface CasesToPack {
	manifest: GoldenManifest;
	bytes: number;
	read: ReadCase;
}

interface Wanted {
	/** Absent: all cases. */
	case?: string | undefined;
	scope?: GoldenVerdict["scope"];
	spec: EngineSpec;
	model: ModelOnDisk;
	set: GoldenSet;
}

/** @throws ConfigError golden-invalid if the golden has no such case. */
export async function chooseCases(
	wanted: Wanted,
	ports: Pick<Ports, "files" | "tensors">,
): Promise<CasesToPack> {
	const { set, spec, model, scope } = wanted;
	const all = { set, read: ((golden, side) => readTensors(golden[side], set.folder, ports)) as ReadCase };
	const composed = scope === "batch" ? composeBatches({ spec, onnx: model.onnx }, set.manifest) : [];
	const batch = composed.find(({ golden }) => golden.id === wanted.case);
	const { set: from, read } = batch === undefined ? all : asCase(batch, all);
	const isAll = wanted.case === undefined || scope === "set";
	const named = from.manifest.cases.filter(({ id }) => isAll || id === wanted.case);
	const [first] = named;
	if (first === undefined)
		throw new ConfigError({
			code: "golden-invalid",
			message: `The golden ${from.manifest.goldenId} has no case ${JSON.stringify(wanted.case)}: it is not the run's.`,
			fix: "Check out the commit of the run.",
		});
	// A constant output alone would be refused as a golden that cannot fail.
	const isWhole =
		isAll || findInsensitive({ ...from.manifest, cases: [first] }, [await read(first, "outputs")]).length > 0;
	const cases: GoldenManifest["cases"] = isWhole ? from.manifest.cases : [first];
	const files = cases.flatMap((one) => [...Object.values(one.inputs), ...Object.values(one.outputs)]);
	const bytes = files.reduce((sum, file) => sum + tensorBytes(file), 0);
	return { manifest: withoutOrigin({ ...from.manifest, cases }), bytes, read };
}

/** Without people, commands and paths of their machine. */
function withoutOrigin(manifest: GoldenManifest): GoldenManifest {
	const { schemaVersion, goldenId, model, producer, outputs, detections, cases } = manifest;
	const { backend, version, precision } = producer;
	const known = Object.entries(outputs).map(([name, output]): [string, GoldenOutput] => {
		const comparators = output.comparators?.filter(({ kind }) => kind !== "custom");
		const [first, ...others] = comparators ?? [];
		return [name, { ...output, comparators: first && [first, ...others] }];
	});
	return {
		...{ schemaVersion, goldenId, producer: { backend, version, precision }, detections, cases },
		model: { ...model, path: model.path.slice(model.path.lastIndexOf("/") + 1) },
		outputs: Object.fromEntries(known),
	};
}

/** Writes the tensors as files of their own, one case at a time; returns the manifest of these. */
export async function writeCases(
	{ manifest, read }: CasesToPack,
	folder: string,
	{ files, packer }: Pick<Ports, "files"> & { packer: TensorPacker },
): Promise<GoldenManifest> {
	const cases: GoldenCase[] = [];
	for (const golden of manifest.cases) {
		const { id, tags, labels } = golden;
		const tensors = { inputs: await read(golden, "inputs"), outputs: await read(golden, "outputs") };
		const packed = packCase({ id, tags, labels, ...tensors }, "tensors", packer);
		for (const { path, bytes } of packed.files) {
			await files.makeFolder(`${folder}/${path.slice(0, path.lastIndexOf("/"))}`);
			await files.writeBytes(`${folder}/${path}`, bytes);
		}
		cases.push(packed.golden);
	}
	return { ...manifest, cases: cases as GoldenManifest["cases"] };
}

// Explains a golden: contents, detection, weaknesses and suggested limits.
import type {
	Detections,
	GoldenManifest,
	GoldenOutput,
	OutputSlice,
	Precision,
	SensitivityRecord,
	Spread,
} from "../../../generated/golden.ts";
import { defaultGates } from "../../core/config/config.ts";
import type { Files, TensorReader } from "../../ports/world.ts";
import { boxComparators, boxKinds, boxLimit } from "../core/boxes/check-boxes.ts";
import { type ResolveContext, resolveComparators, sampleLabels } from "../core/compare/comparators.ts";
import { outputsOf } from "../core/compare/judge.ts";
import { metrics } from "../core/compare/registry.ts";
import { coveredParts, partKey, type RoundingTable, tryOutputDefects } from "../core/record/defects/judge.ts";
import {
	countsAt,
	defaultLeastShares,
	emptyRecord,
	findSensitivityWeaknesses,
	isUnfinished,
	withOutputDefects,
} from "../core/record/defects/record.ts";
import { roundedPrecisions } from "../core/record/limits.ts";
import {
	emulatedRounding,
	floorOf,
	noiseOfPart,
	type RunOutputs,
	referencePrecision,
} from "../core/record/noise-floor.ts";
import { proposeOutput } from "../core/record/propose.ts";
import { proposeDetections } from "../core/record/propose-semantic.ts";
import { findInsensitive, findWeaknesses, type Weakness } from "../core/record/sensitivity.ts";
import { elementCount, own, type Tensors } from "../core/tensor/tensor.ts";
import { tensorStatistics } from "../core/tensor/values.ts";
import { readTensors } from "./load-goldens.ts";

export type InspectedTensor = ReturnType<typeof describeTensors>[number];
export interface InspectedLimit {
	kind: string;
	slice?: OutputSlice;
	label: string;
	bound: "at-most" | "at-least";
	severity: "fail" | "warn";
	scope?: "set";
	allowed: { precision: Precision; limit: number }[];
	timesNoise?: number;
}

export type InspectedOutput = ReturnType<typeof inspectOutput>;
export type Inspection = Awaited<ReturnType<typeof inspect>>;

const shownPrecisions: readonly Precision[] = ["fp32", "tf32", "fp16", "bf16", "int8"];

export async function inspect(
	set: { manifest: GoldenManifest; folder: string },
	ports: { files: Files; tensors: TensorReader },
) {
	const { manifest, folder } = set;
	const cases: { id: string; tags: string[]; inputs: InspectedTensor[]; outputs: InspectedTensor[] }[] = [];
	const outputs: Tensors[] = [];
	for (const { id, tags = [], inputs, outputs: files } of manifest.cases) {
		const fed = describeTensors(await readTensors(inputs, folder, ports));
		const expected = await readTensors(files, folder, ports);
		outputs.push(expected);
		cases.push({ id, tags, inputs: fed, outputs: describeTensors(expected) });
	}
	const { relativeL2 } = defaultGates;
	const trial = { manifest, reference: outputs, relativeL2, rounding: recordedRounding(manifest) };
	const before = manifest.sensitivity ?? emptyRecord({ seed: 0, planned: 0, tensors: 0 });
	const sensitivity = withOutputDefects(before, [...tryOutputDefects(trial)]);
	const group = proposeDetections(outputs, manifest.noiseFloor?.outputs ?? {});
	const names = [...new Set(outputs.flatMap((tensors) => Object.keys(tensors)))];
	return {
		golden: manifest.goldenId,
		reason: manifest.reason ?? null,
		author: manifest.author ?? null,
		model: manifest.model,
		producer: manifest.producer,
		cases,
		outputs: names.map((name) => inspectOutput(name, manifest, outputs)),
		groups: (manifest.detections ?? []).map((spec) => ({ name: spec.name, limits: boxLimitsOf(spec) })),
		detections: group && { proposal: group.detections, why: [group.why] },
		noiseFloor: manifest.noiseFloor ?? null,
		sensitivity,
		findings: findingsOf({ ...manifest, sensitivity }, outputs),
	};
}

/** As far as the recording measured it: no golden could notice a defect below. */
function recordedRounding({ outputs, rounding }: GoldenManifest): RoundingTable {
	const table: Partial<Record<Precision, Record<string, number>>> = {};
	for (const precision of roundedPrecisions)
		for (const [output, spec] of Object.entries(outputs))
			for (const { slice } of coveredParts(spec)) {
				const error = emulatedRounding(rounding, { output, slice, precision });
				if (error !== undefined) table[precision] = { ...table[precision], [partKey(output, slice)]: error };
			}
	return table;
}

function describeTensors(tensors: Tensors) {
	return Object.entries(tensors).map(([name, tensor]) => {
		const { dtype, shape } = tensor;
		return { name, dtype, shape, stats: tensorStatistics(tensor) };
	});
}

function findingsOf(manifest: GoldenManifest & { sensitivity: SensitivityRecord }, reference: RunOutputs) {
	const { sensitivity: record, noiseFloor } = manifest;
	const found = findInsensitive(manifest, reference);
	if (found.length === 0) {
		// Only a golden that notices nothing is refused; a weaker one may serve a purpose.
		const { outputs } = countsAt(record, referencePrecision);
		const severity = outputs.moving > 0 && outputs.noticed === 0 ? "refuse" : "warn";
		const blind = findSensitivityWeaknesses(record, reference, defaultLeastShares);
		found.push(...blind.map((weakness) => ({ ...weakness, severity }) as const));
		found.push(...findWeaknesses(manifest, reference));
	}
	const warn = (message: string): Weakness => ({
		kind: "unmeasured",
		severity: "warn",
		message,
		fix: "Record it with `trtgate golden record`.",
	});
	if (noiseFloor === undefined)
		found.push(warn("its noise floor was not measured, so its limits may be too close to the noise"));
	if (isUnfinished(manifest)) found.push(warn("its sensitivity to weight defects was not tested completely"));
	return found;
}

function inspectOutput(name: string, manifest: GoldenManifest, cases: RunOutputs) {
	const { outputs, detections = [], noiseFloor, rounding } = manifest;
	const spec = own(outputs, name);
	const tensors = cases.flatMap((tensorsOfCase) => tensorsOfCase[name] ?? []);
	const first = tensors.find((tensor) => elementCount(tensor.shape) > 0) ?? tensors[0];
	const noise = noiseFloor?.outputs[name];
	const holders = spec?.comparators === undefined ? detections : [];
	const group = holders.find((candidate) => outputsOf(candidate).includes(name));
	return {
		name,
		semantic: spec?.semantic ?? null,
		noise: noise ?? null,
		rounding: roundedPrecisions.flatMap((precision) => {
			const relativeL2 = emulatedRounding(rounding, { output: name, slice: undefined, precision });
			return relativeL2 === undefined ? [] : [{ precision, relativeL2 }];
		}),
		group: group?.name,
		limits:
			group !== undefined || first === undefined
				? []
				: limitsOf(spec, { expected: first, noise, labels: sampleLabels(manifest.cases, name) }),
		proposal: proposeOutput({ tensors, noise, batched: typeof spec?.batchAxis === "number" }),
	};
}

function boxLimitsOf(spec: Detections): InspectedLimit[] {
	return boxComparators(spec).map((comparator) => {
		const { kind, severity = "fail", scope } = comparator;
		const { label, bound } = boxKinds[kind];
		const limitAt = (precision: Precision) => ({ precision, limit: boxLimit(comparator, precision) });
		const allowed = shownPrecisions.map(limitAt);
		return { kind, label, bound, severity, ...(scope === "set" ? { scope } : {}), allowed };
	});
}

function limitsOf(
	spec: GoldenOutput | undefined,
	{ noise, ...sample }: Pick<ResolveContext, "expected" | "labels"> & { noise: Spread | undefined },
): InspectedLimit[] {
	const byPrecision = shownPrecisions.map((precision) => ({
		precision,
		comparators: resolveComparators(spec, { ...sample, precision, relativeL2: defaultGates.relativeL2 }),
	}));
	return (byPrecision[0]?.comparators ?? []).map((comparator, index) => {
		const { kind, severity, slice, scope } = comparator;
		const { label, bound } = metrics[kind];
		const floor = floorOf(noiseOfPart(noise, slice), sample.expected.dtype);
		const hasNoise = kind === "relative-l2" && noise !== undefined && floor > 0;
		return {
			kind,
			slice,
			label,
			bound,
			severity,
			scope: scope === "set" ? scope : undefined,
			allowed: byPrecision.map(({ precision, comparators }) => ({
				precision,
				limit: comparators[index]?.allowed ?? NaN,
			})),
			timesNoise: hasNoise ? comparator.allowed / floor : undefined,
		};
	});
}

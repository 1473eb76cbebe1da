// Explains a golden: its contents, what its limits detect, its weaknesses, and the limits that its outputs suggest.

import type {
	Detections,
	DType,
	GoldenManifest,
	GoldenOutput,
	NoiseFloor,
	OutputSlice,
	Precision,
	SensitivityRecord,
	Spread,
	TensorStatistics,
} from "../../generated/golden.ts";
import { defaultGates } from "../core/config/defaults.ts";
import { boxComparators, boxKind, boxLimit } from "../core/golden/boxes/check-boxes.ts";
import { resolveComparators } from "../core/golden/compare/comparators.ts";
import { metrics } from "../core/golden/compare/registry.ts";
import { metricLabels } from "../core/golden/metrics/measured.ts";
import { defaultLeastShares, emptyRecord, sharesAt, withOutputDefects } from "../core/golden/record/defects/record.ts";
import { tryOutputDefects } from "../core/golden/record/defects/outputs.ts";
import { emulatedPrecisions } from "../core/golden/record/limits.ts";
import {
	floorOf,
	noiseOfPart,
	type RunOutputs,
	referencePrecision,
} from "../core/golden/record/noise-floor.ts";
import { proposeOutput } from "../core/golden/record/propose.ts";
import { proposeDetections } from "../core/golden/record/propose-detections.ts";
import { findInsensitive, findWeaknesses, type Weakness } from "../core/golden/record/sensitivity.ts";
import { findSensitivityWeaknesses } from "../core/golden/record/sensitivity-findings.ts";
import { elementCount, type Tensor } from "../core/golden/tensor/tensor.ts";
import { tensorStatistics } from "../core/golden/tensor/values.ts";
import type { Files, TensorReader } from "../ports/world.ts";
import { readTensors } from "./load-goldens.ts";

export interface InspectedTensor {
	name: string;
	dtype: DType;
	shape: readonly number[];
	stats: TensorStatistics;
}

export interface InspectedLimit {
	kind: string;
	slice?: OutputSlice;
	/** For people: what the number is. */
	label: string;
	bound: "at-most" | "at-least";
	severity: "fail" | "warn";
	/** Present where it is one number over all cases. */
	scope?: "set";
	/** By precision; of the first case that has elements. */
	allowed: { precision: Precision; limit: number }[];
	/** Of relative-l2: how often the noise floor fits into the fp32 limit. */
	timesNoise?: number;
}

export interface InspectedOutput {
	name: string;
	semantic: string | null;
	noise: Spread | null;
	/** Relative L2 where a precision was emulated. */
	rounding: { precision: Precision; relativeL2: number }[];
	/** Where it is one of the outputs that hold boxes, and is compared with them alone: the group's name. */
	group?: string;
	limits: InspectedLimit[];
	proposal: { output: GoldenOutput; why: string[] };
}

export interface Inspection {
	golden: string;
	reason: string | null;
	author: string | null;
	model: GoldenManifest["model"];
	producer: GoldenManifest["producer"];
	cases: { id: string; tags: string[]; inputs: InspectedTensor[]; outputs: InspectedTensor[] }[];
	outputs: InspectedOutput[];
	/** The limits of the golden's own groups of boxes. */
	groups: { name: string; limits: InspectedLimit[] }[];
	/** Outputs that together hold boxes, and how to compare them; null where there are none. */
	detections: { proposal: Detections; why: string[] } | null;
	noiseFloor: NoiseFloor | null;
	/** With the defects of the outputs, which are tried again. */
	sensitivity: SensitivityRecord;
	findings: Weakness[];
}

const shownPrecisions: readonly Precision[] = ["fp32", "fp16", "bf16", "int8"];

export async function inspect(
	set: { manifest: GoldenManifest; folder: string },
	ports: { files: Files; tensors: TensorReader },
): Promise<Inspection> {
	const { manifest, folder } = set;
	const cases: Inspection["cases"] = [];
	const outputs: Record<string, Tensor>[] = [];
	for (const golden of manifest.cases) {
		const inputs = await readTensors(golden.inputs, folder, ports);
		const expected = await readTensors(golden.outputs, folder, ports);
		outputs.push(expected);
		cases.push({
			id: golden.id,
			tags: golden.tags ?? [],
			inputs: describeTensors(inputs),
			outputs: describeTensors(expected),
		});
	}
	const sensitivity = sensitivityOf(manifest, outputs);
	return {
		golden: manifest.goldenId,
		reason: manifest.reason ?? null,
		author: manifest.author ?? null,
		model: manifest.model,
		producer: manifest.producer,
		cases,
		outputs: namesOf(outputs).map((name) => inspectOutput(name, manifest, outputs)),
		groups: (manifest.detections ?? []).map((spec) => ({ name: spec.name, limits: boxLimitsOf(spec) })),
		detections: proposedGroup(manifest, outputs),
		noiseFloor: manifest.noiseFloor ?? null,
		sensitivity,
		findings: findingsOf({ ...manifest, sensitivity }, outputs),
	};
}

function proposedGroup({ noiseFloor }: GoldenManifest, cases: RunOutputs): Inspection["detections"] {
	const group = proposeDetections(cases, noiseFloor?.outputs ?? {});
	return group === null ? null : { proposal: group.detections, why: group.why };
}

function namesOf(cases: RunOutputs): string[] {
	return [...new Set(cases.flatMap((outputs) => Object.keys(outputs)))];
}

function describeTensors(tensors: Readonly<Record<string, Tensor>>): InspectedTensor[] {
	return Object.entries(tensors).map(([name, tensor]) => ({
		name,
		dtype: tensor.dtype,
		shape: tensor.shape,
		stats: tensorStatistics(tensor),
	}));
}

/** Defects of the outputs need no model: they are tried on every golden. */
function sensitivityOf(manifest: GoldenManifest, reference: RunOutputs): SensitivityRecord {
	const trial = { manifest, reference, relativeL2: defaultGates.relativeL2, rounding: {} };
	return withOutputDefects(manifest.sensitivity ?? emptyRecord({ seed: 0, planned: 0, tensors: 0 }), [
		...tryOutputDefects(trial),
	]);
}

type Tested = GoldenManifest & { sensitivity: SensitivityRecord };

function findingsOf(manifest: Tested, outputs: RunOutputs): Weakness[] {
	const hard = findInsensitive(manifest, outputs).map(
		(finding): Weakness => ({ ...finding, severity: "refuse" }),
	);
	const soft =
		hard.length > 0
			? []
			: [...blindness(manifest.sensitivity, outputs), ...findWeaknesses(manifest, outputs)];
	return [...hard, ...soft, ...unmeasured(manifest)];
}

/** A golden that was recorded or written with a purpose may notice less than a new one has to; one that notices nothing is of no use. */
function blindness(record: SensitivityRecord, reference: RunOutputs): Weakness[] {
	const { outputs } = sharesAt(record, referencePrecision);
	const blind = outputs.moving > 0 && outputs.noticed === 0;
	const found = findSensitivityWeaknesses({ record, graph: null, reference, least: defaultLeastShares });
	return found.map((weakness) => ({ ...weakness, severity: blind ? "refuse" : "warn" }));
}

/** Findings for what only `golden record` measures. */
function unmeasured(manifest: Tested): Weakness[] {
	const fix = "Record it with `trtgate golden record`.";
	const found: Weakness[] = [];
	if (manifest.noiseFloor === undefined) {
		found.push({
			kind: "unmeasured",
			severity: "warn",
			message: "its noise floor was not measured, so its limits may be too close to the noise",
			fix,
		});
	}
	if (manifest.sensitivity.state === "untested" || manifest.sensitivity.state === "unfinished") {
		found.push({
			kind: "unmeasured",
			severity: "warn",
			message: "its sensitivity to weight defects was not tested completely",
			fix,
		});
	}
	return found;
}

function groupOf({ detections }: GoldenManifest, output: string): Detections | undefined {
	return detections?.find(({ boxes, scores, classes, count }) =>
		[boxes, scores, classes, count].includes(output),
	);
}

function inspectOutput(name: string, manifest: GoldenManifest, cases: RunOutputs): InspectedOutput {
	const spec = Object.hasOwn(manifest.outputs, name) ? manifest.outputs[name] : undefined;
	const tensors = cases.flatMap((outputs) => outputs[name] ?? []);
	const first = tensors.find((tensor) => elementCount(tensor.shape) > 0) ?? tensors[0];
	const noise = manifest.noiseFloor?.outputs[name];
	const group = spec?.comparators === undefined ? groupOf(manifest, name) : undefined;
	return {
		name,
		semantic: spec?.semantic ?? null,
		noise: noise ?? null,
		rounding: roundingOf(name, manifest),
		group: group === undefined ? undefined : group.name,
		limits: group !== undefined || first === undefined ? [] : limitsOf(spec, first, noise),
		proposal: proposeOutput({ name, tensors, noise, batched: typeof spec?.batchAxis === "number" }),
	};
}

function roundingOf(name: string, { rounding = {} }: GoldenManifest): InspectedOutput["rounding"] {
	return emulatedPrecisions.flatMap((precision) => {
		const outputs = rounding[precision]?.outputs ?? {};
		const spread = Object.hasOwn(outputs, name) ? outputs[name] : undefined;
		return spread === undefined ? [] : [{ precision, relativeL2: spread.relativeL2 }];
	});
}

function boxLimitsOf(spec: Detections): InspectedLimit[] {
	return boxComparators(spec).map((comparator) => ({
		kind: comparator.kind,
		label: metricLabels[comparator.kind],
		bound: boxKind(comparator.kind).bound,
		severity: comparator.severity ?? "fail",
		...(comparator.scope === "set" ? { scope: "set" as const } : {}),
		allowed: shownPrecisions.map((precision) => ({ precision, limit: boxLimit(comparator, precision) })),
	}));
}

function limitsOf(
	spec: GoldenOutput | undefined,
	expected: Tensor,
	noise: Spread | undefined,
): InspectedLimit[] {
	const byPrecision = shownPrecisions.map((precision) => ({
		precision,
		comparators: resolveComparators(spec, { expected, precision, relativeL2: defaultGates.relativeL2 }),
	}));
	return (byPrecision[0]?.comparators ?? []).map((comparator, index) => {
		const { kind, severity, slice } = comparator;
		const allowed = byPrecision.map(({ precision, comparators }) => ({
			precision,
			limit: comparators[index]?.allowed ?? Number.NaN,
		}));
		const floor = floorOf(noiseOfPart(noise, slice), expected.dtype);
		const times =
			kind === "relative-l2" && noise !== undefined && floor > 0
				? { timesNoise: comparator.allowed / floor }
				: {};
		const over = comparator.scope === "set" ? { scope: comparator.scope } : {};
		const part = slice === undefined ? {} : { slice };
		return {
			kind,
			...part,
			label: metricLabels[kind],
			bound: metrics[kind].bound,
			severity,
			...over,
			allowed,
			...times,
		};
	});
}

// Cases whose outputs are noise: nothing in them says whether an engine is right.

import type { OutputSlice } from "../../../../generated/golden.ts";
import { ConfigError } from "../../errors.ts";
import { quoteName } from "../../onnx/quote.ts";
import { twoDigits } from "../../text/units.ts";
import { largestFinite } from "../compare/difference.ts";
import { cutSlice } from "../tensor/slice.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import {
	distance,
	type LabelledRun,
	type OutputParts,
	type RunOutputs,
	signalFloor,
	signalOverNoise,
} from "./noise-floor.ts";
import { proposeDetections } from "./propose-detections.ts";

export interface NoiseCase {
	index: number;
	why: string;
}

/** Cases that are below the noise in every output. Integers are no noise, nor are boxes, which come in any order. */
export function findNoiseCases(
	reference: RunOutputs,
	runs: readonly LabelledRun[],
	parts: OutputParts,
): NoiseCase[] {
	const boxes = proposeDetections(reference, {})?.outputs ?? [];
	const names = new Set(
		reference.flatMap((outputs) => Object.keys(outputs)).filter((name) => !boxes.includes(name)),
	);
	const checks = [...names].flatMap((name) => checkOf(name, reference, { runs, parts }) ?? []);
	return reference.flatMap((_, index) => {
		const whys = checks.map((whyNoise) => whyNoise(index));
		const [why] = whys;
		return why === undefined || why === null || whys.includes(null) ? [] : [{ index, why }];
	});
}

/** Why the output of a case is noise; null where it is not. */
type WhyNoise = (index: number) => string | null;

function checkOf(
	name: string,
	reference: RunOutputs,
	{ runs, parts }: { runs: readonly LabelledRun[]; parts: OutputParts },
): WhyNoise | null {
	const tensors = reference.map((outputs) => outputs[name]);
	const filled = tensors.filter((tensor) => tensor !== undefined && elementCount(tensor.shape) > 0);
	if (filled.length === 0) return null;
	if (!filled.every((tensor) => isFloating(tensor?.dtype ?? "bool"))) return () => null;
	const slices: readonly (OutputSlice | undefined)[] =
		Object.hasOwn(parts, name) && parts[name]?.length ? parts[name] : [undefined];
	const byPart = slices.map((slice) => partCheck({ name, tensors, slice }, runs));
	return (index) => {
		const whys = byPart.map((whyNoise) => whyNoise(index));
		return whys.includes(null) ? null : (whys[0] ?? null);
	};
}

interface OutputPart {
	name: string;
	tensors: readonly (Tensor | undefined)[];
	slice: OutputSlice | undefined;
}

function partCheck({ name, tensors, slice }: OutputPart, runs: readonly LabelledRun[]): WhyNoise {
	const largest = tensors.map((tensor) =>
		tensor === undefined ? 0 : largestFinite(cutSlice(tensor, slice)),
	);
	const spreads = tensors.map((tensor, index) => spreadOf(tensor, { runs, name, index, slice }));
	const peak = Math.max(0, ...largest);
	const noise = Math.max(...spreads.map(({ maxAbs }) => maxAbs).filter(Number.isFinite), 0);
	const floor = signalFloor(peak, noise);
	return (index) => {
		const [value, spread] = [largest[index] ?? 0, spreads[index]?.relativeL2 ?? 0];
		if (value < floor)
			return `the largest value of output ${quoteName(name)} is ${twoDigits(value)}, where other cases reach ${twoDigits(peak)}`;
		if (!(spread > 1 / signalOverNoise && spread < Number.POSITIVE_INFINITY)) return null;
		return `two runs of the same model differ by ${twoDigits(100 * spread)} % in output ${quoteName(name)} (relative L2), whose largest value is ${twoDigits(value)}`;
	};
}

interface RunsOfCase {
	runs: readonly LabelledRun[];
	name: string;
	index: number;
	slice: OutputSlice | undefined;
}

function spreadOf(
	expected: Tensor | undefined,
	{ runs, name, index, slice }: RunsOfCase,
): { relativeL2: number; maxAbs: number } {
	const widest = { relativeL2: 0, maxAbs: 0 };
	for (const run of runs) {
		const got = run.outputs[index]?.[name];
		const spread = expected === undefined || got === undefined ? null : distance(expected, got, { slice });
		if (spread === null) continue;
		widest.relativeL2 = Math.max(widest.relativeL2, spread.relativeL2);
		widest.maxAbs = Math.max(widest.maxAbs, spread.maxAbs);
	}
	return widest;
}

/** @throws ConfigError golden-uninformative where no case is left. */
export function dropNoiseCases<Case extends { id: string }>(
	cases: readonly Case[],
	noisy: readonly NoiseCase[],
): { kept: { golden: Case; index: number }[]; notes: string[] } {
	const [first] = noisy;
	if (first !== undefined && noisy.length === cases.length) {
		throw new ConfigError({
			code: "golden-uninformative",
			message: `Not recorded: every case is noise; of case ${quoteName(cases[first.index]?.id ?? "")}, ${first.why}.`,
			fix: "Give inputs that mean something to the model, such as real ones with --inputs; generated ones may contain nothing that it looks for.",
		});
	}
	const notes = noisy.map(
		({ index, why }) =>
			`Case ${quoteName(cases[index]?.id ?? "")} was left out, because it is noise: ${why}.`,
	);
	const kept = cases.flatMap((golden, index) =>
		noisy.some((other) => other.index === index) ? [] : [{ golden, index }],
	);
	return { kept, notes };
}

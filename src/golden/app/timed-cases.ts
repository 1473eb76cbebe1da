// Generates cases at the sizes that the config times a model at, and at the ends of its profiles.

import { bindShapes, fillShapes, overConfig } from "../../core/onnx/input-shapes/bind.ts";
import type { Sizes } from "../../core/onnx/input-shapes/search.ts";
import { listNames } from "../../core/text/labels.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { maxCaseBytes } from "../core/probes/context.ts";
import { tensorBytes } from "../core/tensor/tensor.ts";
import { areWithin, exactly, inputAxes, sizesOf } from "../core/timed/compose.ts";
import { type CaseToRecord, timedTag } from "../stages/record-runs.ts";
import { generateCases, inputPorts } from "./inputs.ts";
import type { RecordOptions } from "./record-options.ts";

interface TimedCases {
	cases: CaseToRecord[];
	notes: string[];
}

export const noTimed: TimedCases = { cases: [], notes: [] };

const mostTimed = 8;
/** Together, as a multiple of the other cases: recording takes as much longer. */
const mostTimes = 4;

type Layouts = Readonly<Record<string, Parameters<typeof tensorBytes>[0]>>;

export function timedCases(
	{ options, model: { onnx } }: { options: RecordOptions; model: ModelOnDisk },
	given: readonly CaseToRecord[],
	others: Sizes,
): TimedCases {
	const { configured } = options;
	const axes = inputAxes(onnx, configured.inputs);
	const known = given.map(({ inputs }) => sizesOf(axes, inputs));
	const bytesOf = (all: Layouts) => Object.values(all).reduce((sum, one) => sum + tensorBytes(one), 0);
	const usual = given.reduce((sum, { inputs }) => sum + bytesOf(inputs), 0);
	let left = Math.min(maxCaseBytes, mostTimes * usual);
	const cases: CaseToRecord[] = [];
	const leftOut: string[] = [];
	for (const sizes of options.timed) {
		const dims = { ...configured.dims, ...sizes };
		const source = overConfig(onnx, { ...configured, dims }, options.given);
		const shapes = fillShapes(bindShapes(onnx, source), others);
		const ports = shapes === null ? [] : inputPorts(onnx, shapes);
		const layouts = ports.map(({ name, dtype, shape }) => [name, { dtype, shape: shape ?? [] }]);
		const inputs: Layouts = Object.fromEntries(layouts);
		const named = sizesOf(axes, inputs);
		if (known.some((one) => areWithin(named, exactly(one)))) continue;
		known.push(named);
		const differing = Object.entries(named).filter(([name, size]) => known[0]?.[name] !== size);
		const id = differing.map(([name, size]) => `${name}-${size}`).join("-");
		if (bytesOf(inputs) > left || cases.length === mostTimed) {
			leftOut.push(id);
			continue;
		}
		left -= bytesOf(inputs);
		const { seed, generators } = options;
		const from = given.length + cases.length;
		const made = generateCases(ports, 1, { model: onnx, seed, generators, from }).cases;
		cases.push(...made.map((one) => ({ ...one, id, tags: ["generated", timedTag] })));
	}
	const why = `added cases are at most ${mostTimed}, and ${mostTimes} times as large as the others`;
	return {
		cases,
		notes: leftOut.length === 0 ? [] : [`No case was added for ${listNames(leftOut)}: ${why}.`],
	};
}

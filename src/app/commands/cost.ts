// `trtgate cost`: what an ONNX file costs by its graph alone.
import { resolve } from "node:path";
import { readStructure } from "../../adapters/files/model-reader.ts";
import { withInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { costFacts } from "../../core/onnx/cost/compare.ts";
import { costsOf, sizesOf } from "../../core/onnx/cost/cost.ts";
import { runnableShapes } from "../../core/onnx/input-shapes/search.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import { renderCosts } from "../../core/report/sections/graph-costs.ts";
import { jsonText } from "../../core/text/escape.ts";
import { timedInputsOf } from "../../core/timed-inputs.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { misused, parseArguments } from "./arguments.ts";
import { givenSizes } from "./sizes.ts";
import { costTable } from "./tables.ts";

type Shapes = Readonly<Record<string, readonly number[]>>;

export async function cost(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, costTable, { more: true });
	const [headPath = "", basePath, ...others] = args.positionals;
	if (others.length > 0)
		throw usageError(
			"cost takes one model, or a model and its base.",
			`Leave out ${JSON.stringify(others[0])}.`,
		);
	const top = args.text("top");
	if (!/^\d{1,6}$/.test(top)) throw misused("--top", "a whole number", top);
	const given = givenSizes(args);
	const read = async (path: string) => {
		const whole = resolve(terminal.cwd, path);
		return (await withInput(whole, inputKinds.model, (input) => readStructure(input, whole))).onnx;
	};
	const head = await read(headPath);
	const shapes = runnableShapes(head, given);
	const base = basePath === undefined ? null : await read(basePath);
	const facts = costFacts({
		head: countedAt(headPath, head, shapes),
		base:
			base &&
			countedAt(basePath ?? "", base, runnableShapes(base, { dims: {}, inputs: openInputs(base, shapes) })),
	});
	terminal.out(args.flag("json") ? jsonText(facts) : renderCosts(facts, Number(top)));
	return exitCodes.ok;
}

export function countedAt(path: string, model: OnnxModel, shapes: Shapes) {
	const inputs = timedInputsOf(model, {})(shapes);
	return { path, shapes, cost: costsOf(model)(sizesOf(inputs)) };
}

/** The base gets the head's sizes if its file leaves them open. */
function openInputs(base: OnnxModel, shapes: Shapes) {
	const open = feeds(base.graph).filter(
		({ dims }) => dims === null || dims.some((dim) => typeof dim !== "number"),
	);
	const given = open.flatMap(({ name }) =>
		Object.hasOwn(shapes, name) ? [[name, { shape: [...(shapes[name] ?? [])] }] as const] : [],
	);
	return Object.fromEntries(given);
}

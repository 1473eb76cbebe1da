// `trtgate cost`: what an ONNX file costs by its graph alone, and what another file changes of it.
import { resolve } from "node:path";
import { readStructure } from "../../adapters/files/external-files.ts";
import { withInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { type ComparedCosts, costFacts } from "../../core/onnx/cost/compare.ts";
import { costsOf, sizesOf } from "../../core/onnx/cost/cost.ts";
import { type ShapeSource, shapeCheck } from "../../core/onnx/input-shapes/bind.ts";
import type { GivenShapes } from "../../core/onnx/input-shapes/open-axes.ts";
import { refuseImpossible, resolveShapes } from "../../core/onnx/input-shapes/resolve.ts";
import { feeds, type OnnxModel } from "../../core/onnx/model.ts";
import { renderCosts } from "../../core/report/graph-cost-text.ts";
import { jsonText } from "../../core/text/escape.ts";
import { timedInputsOf } from "../../core/timed-inputs.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { misused, parseArguments } from "./arguments.ts";
import { parseDims, parseShapes } from "./sizes.ts";
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
	const most = countOf(args.text("top"));
	const given = { dims: parseDims(args.texts("dims")), inputs: parseShapes(args.texts("shape")) };
	const head = await read(headPath, terminal.cwd);
	const shapes = sizesFor(head, given);
	const base = basePath === undefined ? null : await read(basePath, terminal.cwd);
	const baseShapes = base === null ? {} : sizesFor(base, { dims: {}, inputs: openInputs(base, shapes) });
	const counted = (model: OnnxModel, own: Shapes) => costsOf(model)(sizesOf(timedInputsOf(model, {})(own)));
	const compared: ComparedCosts = {
		head: { path: headPath, shapes, cost: counted(head, shapes) },
		base:
			base === null || basePath === undefined
				? null
				: { path: basePath, shapes: baseShapes, cost: counted(base, baseShapes) },
	};
	terminal.out(args.flag("json") ? jsonText(costFacts(compared)) : renderCosts(costFacts(compared), most));
	return exitCodes.ok;
}

function countOf(text: string): number {
	if (/^\d{1,6}$/.test(text)) return Number(text);
	throw misused("--top", "a whole number", text);
}

async function read(path: string, cwd: string): Promise<OnnxModel> {
	const whole = resolve(cwd, path);
	return (await withInput(whole, inputKinds.model, (input) => readStructure(input, whole))).onnx;
}

/** @throws ConfigError config-dims where a size is missing, or the model cannot run with them. */
function sizesFor(model: OnnxModel, given: ShapeSource): Shapes {
	const shapes = resolveShapes(model, given);
	refuseImpossible(model, { check: shapeCheck(model), shapes }, given);
	return shapes;
}

/** The base takes the head's sizes where its file leaves them open. */
function openInputs(base: OnnxModel, shapes: Shapes): GivenShapes {
	const open = feeds(base.graph).filter(
		({ dims }) => dims === null || dims.some((dim) => typeof dim !== "number"),
	);
	const given = open.flatMap(({ name }) =>
		Object.hasOwn(shapes, name) ? [[name, { shape: [...(shapes[name] ?? [])] }] as const] : [],
	);
	return Object.fromEntries(given);
}

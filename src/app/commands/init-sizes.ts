// Finds sizes that a model runs with, for a config that nobody wrote yet.
import { endsOf, findDims, type KnownSizes, type RangeEnds } from "../../core/config/dims.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import {
	bindShapes,
	fillShapes,
	refuseImpossible,
	type ShapeSource,
	shapeCheck,
} from "../../core/onnx/input-shapes/bind.ts";
import {
	describeShapes,
	labelAxes,
	type OpenInputs,
	proposeSizes,
} from "../../core/onnx/input-shapes/open-axes.ts";
import { describeAttempts } from "../../core/onnx/input-shapes/search.ts";
import { type GoldenPorts, withGoldenPorts } from "../../golden/app/compose.ts";
import { generateCases, inputPorts } from "../../golden/app/inputs.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { checkSizes, type TryInput, trySizes } from "../../stages/try-sizes.ts";
import { progressFor, type Terminal } from "../terminal.ts";

export interface InitSizes extends KnownSizes {
	comments: readonly string[];
}

const limitMs = 10_000;

/** @throws ConfigError config-dims if the given sizes contradict the model. */
export async function chooseInitSizes(
	model: ModelOnDisk,
	given: ShapeSource,
	terminal: Terminal & { quiet: boolean },
): Promise<InitSizes> {
	const { onnx } = model;
	const bound = bindShapes(onnx, given);
	const sizes = givenSizes(bound);
	const known = { sizes, given: new Set(sizes.keys()), ends: {} };
	const shapes = fillShapes(bound, new Map());
	if (shapes !== null) refuseImpossible(shapeCheck(onnx), shapes, given);
	if (bound.open.length === 0 || bound.labels.includes(null)) return { ...known, comments: [] };
	const feed: TryInput["feed"] = (tried) =>
		generateCases(inputPorts(onnx, tried), 1, { model: onnx, seed: 1, generators: [] }).cases[0]?.inputs ??
		{};
	const progress = progressFor(terminal, terminal);
	try {
		return await withGoldenPorts({ terminal, progress, onnxruntime: "wasm" }, (ports, scratchFolder) =>
			tryOut({ model, bound, feed, limitMs, scratchFolder }, known, ports),
		);
	} catch (error) {
		if (!(error instanceof ConfigError || error instanceof ToolError)) throw error;
		const guesses = new Map([...sizes, ...proposeSizes(onnx, bound.open)]);
		return { ...known, sizes: guesses, comments: [`Guesses: they were not tried. ${error.message}`] };
	}
}

function givenSizes({ inputs, labels }: OpenInputs) {
	const sizes = new Map<string, number>();
	for (const [index, axes] of labelAxes(inputs).entries()) {
		for (const [axis, label] of (axes ?? []).entries()) {
			const size = labels[index]?.[axis];
			if (typeof label !== "number" && typeof size === "number") sizes.set(label.name, size);
		}
	}
	return sizes;
}

async function tryOut(input: TryInput, known: KnownSizes, ports: GoldenPorts) {
	const { model, bound } = input;
	const endMs = ports.clock.now() + input.limitMs;
	const tried = await trySizes(input, ports);
	if (tried.state === "none") {
		const sizes = new Map([...known.sizes, ...proposeSizes(model.onnx, bound.open)]);
		const comments = ["Guesses that do not run: correct them.", describeAttempts(bound, tried.attempts)];
		return { ...known, sizes, comments };
	}
	const chosen = { ...known, sizes: new Map([...known.sizes, ...tried.sizes]) };
	const shapes = describeShapes(fillShapes(bound, tried.sizes) ?? {});
	if (tried.state === "guessed") {
		const why = tried.why.replace(/\.$/, "");
		return { ...chosen, comments: [`Guesses: ${shapes} was not tried, because ${why}.`] };
	}
	const left = { ...input, limitMs: endMs - ports.clock.now() };
	const ends = await tryEnds(left, { chosen, sizes: tried.sizes }, ports);
	return { ...chosen, ends, comments: [`ONNX Runtime runs ${shapes}${endsText(ends)}.`] };
}

async function tryEnds(
	input: TryInput,
	{ chosen, sizes }: { chosen: KnownSizes; sizes: ReadonlyMap<string, number> },
	ports: GoldenPorts,
) {
	const { model, bound } = input;
	const check = shapeCheck(model.onnx);
	const ends = endsOf(findDims(model.onnx, chosen), sizes);
	const possible = ends.filter(([, candidate]) => check(fillShapes(bound, candidate) ?? {}) === null);
	const groups = [
		possible.filter(([end]) => end !== "largest"),
		possible.filter(([end]) => end === "largest"),
	].filter((group) => group.length > 0);
	const candidates = groups.map((group) => group.map(([, candidate]) => candidate));
	const ran = await checkSizes(candidates, input, ports);
	const known = new Map(groups.flat().map(([end], index) => [end, ran[index]]));
	return Object.fromEntries(ends.map(([end]) => [end, known.has(end) ? known.get(end) : false]));
}

function endsText(ends: RangeEnds) {
	const labels = {
		batch: "more rows",
		smallest: "the smallest sizes",
		largest: "the largest sizes",
	} as const;
	const list = (before: string, state: boolean | undefined) => {
		const named = (Object.keys(labels) as (keyof RangeEnds)[]).filter(
			(end) => Object.hasOwn(ends, end) && ends[end] === state,
		);
		return named.length === 0 ? "" : `${before}${named.map((end) => labels[end]).join(", ")}`;
	};
	return list(", and ", true) + list("; not ", false) + list("; not tried: ", undefined);
}

// Entry of manifest/: parses a golden manifest by its schema, then by the rules beyond it.

import type {
	BoxComparatorSpec,
	ComparatorSpec,
	Detections,
	GoldenCase,
	GoldenManifest,
	GoldenOutput,
	TensorFile,
} from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/golden-validator.js";
import goldenSchema from "../../../../golden-schema/golden.schema.json" with { type: "json" };
import { ConfigError } from "../../../core/errors.ts";
import { childPointer, formatName, readJson, type SchemaProblem, toProblem } from "../../../core/found.ts";
import { describeInvisible } from "../../../core/text/escape.ts";
import { boxKinds } from "../boxes/check-boxes.ts";
import { axisFromStart, elementCount, isFloating, own, slicedShape, tensorBytes } from "../tensor/tensor.ts";
import { comparatorProblem, layoutProblem, limitsIn, notOverSet, problem } from "./comparator-rules.ts";

const maxChars = 64 * 1024 * 1024;

/**
 * @param path names the file in errors.
 * @throws ConfigError golden-invalid with the JSON pointer, what was expected and what is there.
 */
export function parseManifest(text: string, path: string): GoldenManifest {
	if (text.length > maxChars) {
		throw invalid(
			path,
			problem("", `at most ${maxChars} characters`, `${text.length}`, "Split the golden set."),
		);
	}
	const lfs = text.startsWith("version https://git-lfs");
	const fix = lfs
		? "Run `git lfs pull`; in a workflow, check out with `lfs: true`."
		: "Restore the file, which may be truncated, or record the golden again.";
	const value = readJson(text, (got) =>
		invalid(path, problem("", "JSON", lfs ? "a Git LFS pointer" : got, fix)),
	);
	if (!validate(value))
		throw invalid(
			path,
			toProblem(validate.errors ?? [], value, { schema: goldenSchema, what: "a golden manifest" }),
		);
	const manifest = value as GoldenManifest;
	const broken = findRuleProblem(manifest);
	if (broken !== null) throw invalid(path, broken);
	return manifest;
}

function invalid(path: string, { pointer, expected, got, fix }: SchemaProblem) {
	const place = pointer === "" ? "the golden manifest" : pointer;
	return new ConfigError({
		code: "golden-invalid",
		message: `${path}: ${place}: expected ${expected}, got ${got}.`,
		location: { path },
		pointer,
		fix: fix ?? `Write ${expected}.`,
	});
}

export function findRuleProblem(manifest: GoldenManifest): SchemaProblem | null {
	const rules = [nameRules, fileRules, emptyRules, outputRules, labelRules, detectionRules];
	for (const rule of rules) for (const found of rule(manifest)) return found;
	return null;
}

function* below(pointer: string, found: SchemaProblem | null) {
	if (found !== null) yield { ...found, pointer: pointer + found.pointer };
}

function* nameRules({ goldenId, cases, detections }: GoldenManifest) {
	const names = [
		["/goldenId", goldenId],
		...cases.map(({ id }, index) => [`/cases/${index}/id`, id]),
		...(detections ?? []).map(({ name }, index) => [`/detections/${index}/name`, name]),
	];
	for (const [pointer = "", name = ""] of names) {
		const got = describeInvisible(name);
		if (got !== null) yield problem(pointer, "visible characters only", got, "Type the name again.");
	}
	const seen = new Map<string, number>();
	for (const [index, { id }] of cases.entries()) {
		if (seen.has(id)) yield problem(`/cases/${index}/id`, "a unique id", `that of /cases/${seen.get(id)}`);
		seen.set(id, index);
	}
}

const maxTensorBytes = 2 ** 32;

function* fileRules({ cases }: GoldenManifest) {
	for (const [index, golden] of cases.entries())
		for (const side of ["inputs", "outputs"] as const)
			for (const [name, file] of Object.entries(golden[side])) {
				const pointer = childPointer(`/cases/${index}/${side}`, name);
				if (escapes(file.path))
					yield problem(`${pointer}/path`, "a path inside the manifest's folder", formatName(file.path));
				const bytes = tensorBytes(file);
				if (bytes > maxTensorBytes)
					yield problem(`${pointer}/shape`, `a tensor of at most ${maxTensorBytes} bytes`, `${bytes} bytes`);
			}
}

function* emptyRules({ cases }: GoldenManifest) {
	for (const [index, { outputs }] of cases.entries())
		if (!Object.values(outputs).some((file) => elementCount(file.shape) > 0)) {
			const expected = "an output with at least one element";
			yield problem(`/cases/${index}/outputs`, expected, "nothing that could be compared");
		}
}

/** Also for another system. */
function escapes(path: string) {
	return /^\/|^[A-Za-z]:|\\|\0/.test(path) || path.split("/").includes("..");
}

function* outputRules({ outputs, cases }: GoldenManifest) {
	const named = new Set(cases.flatMap((golden) => Object.keys(golden.outputs)));
	const known = [...named].map((name) => formatName(name)).join(", ");
	for (const name of Object.keys(outputs))
		if (!named.has(name))
			yield problem(childPointer("/outputs", name), `an output of the cases: ${known}`, formatName(name));
	const entries = Object.entries(outputs).map(([name, output]) => ({
		pointer: childPointer("/outputs", name),
		output,
		files: cases.flatMap((golden) => own(golden.outputs, name) ?? []),
	}));
	for (const { pointer, output, files } of entries)
		for (const [index, spec] of (output.comparators ?? []).entries()) {
			const dtypes = files.map(({ dtype }) => dtype);
			yield* below(`${pointer}/comparators/${index}`, comparatorProblem(spec, output, dtypes));
		}
	for (const { pointer, output, files } of entries)
		for (const file of files) yield* axisRules(output, pointer, file);
}

function* axisRules({ batchAxis = null, comparators }: GoldenOutput, pointer: string, file: TensorFile) {
	const rank = file.shape.length;
	if (batchAxis !== null && batchAxis >= rank)
		yield problem(`${pointer}/batchAxis`, `an axis of the output, which has ${rank}`, String(batchAxis));
	for (const [index, spec] of (comparators ?? []).entries())
		yield* below(`${pointer}/comparators/${index}`, layoutProblem(spec, file, batchAxis));
}

function* labelRules({ outputs, cases }: GoldenManifest) {
	for (const [index, golden] of cases.entries()) {
		const holder = `/cases/${index}/labels`;
		for (const [name, labels] of Object.entries(golden.labels ?? {})) {
			const specs = accuracyOf(own(outputs, name));
			yield* below(childPointer(holder, name), labelProblem(name, labels.length, golden, specs));
		}
		for (const [name, output] of Object.entries(outputs)) {
			const isCompared = accuracyOf(output).length > 0 && Object.hasOwn(golden.outputs, name);
			if (isCompared && own(golden.labels, name) === undefined)
				yield problem(holder, `labels of ${formatName(name)}, which accuracy compares`, "none");
		}
	}
}

function labelProblem(name: string, count: number, golden: GoldenCase, specs: readonly ComparatorSpec[]) {
	const file = own(golden.outputs, name);
	if (specs.length === 0 || file === undefined)
		return problem("", "an output of the case with the comparator accuracy", formatName(name));
	const rows = specs.map((spec) => rowsOf(file, spec)).find((wanted) => wanted !== count);
	return rows === undefined ? null : problem("", `${rows} labels, one for each row`, String(count));
}

function accuracyOf(output: GoldenOutput | undefined) {
	return (output?.comparators ?? []).filter((spec) => spec.kind === "accuracy");
}

function rowsOf(file: TensorFile, spec: ComparatorSpec) {
	const shape = slicedShape(spec.slice, file.shape);
	const elements = elementCount(shape);
	if (!isFloating(file.dtype) || elements === 0) return elements;
	return elements / (shape[axisFromStart(spec.axis ?? -1, shape.length)] ?? 1);
}

/** The others pass an engine that gives no boxes. */
const seesMissing: ReadonlySet<BoxComparatorSpec["kind"]> = new Set(["box-missing", "box-f1", "map"]);

function* detectionRules({ detections, cases }: GoldenManifest) {
	const names = new Set<string>();
	for (const [index, spec] of (detections ?? []).entries()) {
		const pointer = `/detections/${index}`;
		const { name } = spec;
		if (names.has(name)) yield problem(`${pointer}/name`, "a unique name", formatName(name));
		names.add(name);
		yield* groupRules(spec, cases, pointer);
		for (const [at, comparator] of (spec.comparators ?? []).entries())
			yield* boxRules(comparator, `${pointer}/comparators/${at}`);
		if (spec.comparators?.some(({ kind }) => seesMissing.has(kind)) === false) {
			const kinds = spec.comparators.map(({ kind }) => kind).join(", ");
			const expected = `a comparator that notices missing boxes: ${[...seesMissing].join(", ")}`;
			yield problem(`${pointer}/comparators`, expected, kinds, "Add one.");
		}
	}
}

function* groupRules(spec: Detections, cases: readonly GoldenCase[], pointer: string) {
	if (spec.classes !== undefined && spec.scores === undefined) {
		const expected = "no classes, because boxes already hold score and class";
		const fix = 'Add "scores", or remove "classes".';
		yield problem(`${pointer}/classes`, expected, formatName(spec.classes), fix);
	}
	for (const key of ["boxes", "scores", "classes", "count"] as const) {
		const name = spec[key];
		const without = cases.find(({ outputs }) => name !== undefined && !Object.hasOwn(outputs, name));
		if (without !== undefined)
			yield problem(
				`${pointer}/${key}`,
				`an output of case ${formatName(without.id)}`,
				formatName(name ?? ""),
			);
	}
	const columns = spec.scores === undefined ? 6 : 4;
	for (const golden of cases) {
		const shape = golden.outputs[spec.boxes]?.shape ?? [];
		const expected = `an output of [images, boxes, ${columns}]`;
		if (shape.length < 2 || shape.at(-1) !== columns)
			yield problem(`${pointer}/boxes`, expected, `[${shape.join(", ")}]`);
	}
}

function* boxRules({ kind, scope, tolerance }: BoxComparatorSpec, pointer: string) {
	if (scope === "set" && boxKinds[kind].set === undefined)
		yield notOverSet(boxKinds, `${pointer}/scope`, `whole for ${kind}`);
	const limits = limitsIn(tolerance);
	const bad = limits.find((limit) => limit > 1 || limit === 0);
	if (boxKinds[kind].range.most === 1 && bad !== undefined)
		yield problem(`${pointer}/tolerance`, "a limit above 0 and up to 1", String(bad));
}

// Checks the versions that the file states, and the graph as a whole: outputs, cycles, and names.
import { quoteName } from "../../text/escape.ts";
import { isAtLeast, type TensorRt } from "../tensorrt/support.ts";
import { foundIn, producersOf, runnable, type Scope } from "../walk.ts";
import { finding, inScope, nodeFinding, type Rule, type Subject } from "./subject.ts";

/** Tried: these load, the next ones do not. */
const onnxRuntime = { name: "ONNX Runtime 1.30", opset: 26, ml: 5, ir: 13 };
export const newestOpset = onnxRuntime.opset;
/** NVIDIA's ONNX opset guide for TensorRT 11; one more than the parser's document names. */
const newestOpsetOf11 = 25;
/** ONNX 1.23 defines opset 28 and adds about two a year. A far larger number is a mistake, which TensorRT ignores. */
const farthestOpset = 36;

export const versions: Rule = (subject) => {
	const { irVersion: ir, opsets } = subject.model.onnx;
	const { tensorrt } = subject;
	const { name } = onnxRuntime;
	const found = missingOpsets(subject);
	if (ir > onnxRuntime.ir) {
		const result = tensorrt === null ? "" : ", so that it cannot make goldens of this model";
		const message = `The file's IR version is ${ir}; ${name} reads up to ${onnxRuntime.ir}${result}.`;
		const fix = `Save the model with model.ir_version = ${onnxRuntime.ir}, or export with an older onnx package.`;
		found.push(finding("ir-too-new", message, { severity: tensorrt === null ? "error" : "note", fix }));
	}
	if (tensorrt !== null) return [...found, ...tooNewForTensorRt(opsets[""] ?? 0, tensorrt)];
	const limits = [
		{ domain: "", newest: onnxRuntime.opset },
		{ domain: "ai.onnx.ml", newest: onnxRuntime.ml },
	];
	for (const { domain, newest } of limits) {
		const opset = opsets[domain] ?? 0;
		const what = domain === "" ? "opset" : `opset of ${domain}`;
		const message = `The model's ${what} is ${opset}; ${name} reads up to ${newest}.`;
		if (opset > newest) found.push(finding("opset-too-new", message, { fix: olderOpset(newest) }));
	}
	return found;
};

function olderOpset(newest: number) {
	return `Export with opset ${newest} or older, or convert with onnx.version_converter.`;
}

/** A file that names no operator set at all is refused; a single missing domain is taken at its latest version. */
function missingOpsets({ scopes, model }: Subject) {
	if (Object.keys(model.onnx.opsets).length === 0)
		return [finding("opset-missing", "The file names no operator set, so its operators are undefined.")];
	const used = scopes.flatMap(({ nodes, opsets }) =>
		nodes.flatMap(({ domain }) => (Object.hasOwn(opsets, domain) ? [] : [domain])),
	);
	return [...new Set(used)].map((domain) => {
		const name = domain === "" ? "the standard domain" : `domain ${quoteName(domain)}`;
		const message = `The model uses operators of ${name} without naming that operator set's version.`;
		return finding("opset-missing", message, { severity: "warning" });
	});
}

/** TensorRT takes any opset. A version without a list of its own may know what the next one above documents. */
function tooNewForTensorRt(opset: number, tensorrt: TensorRt) {
	const { name, at, above } = tensorrt;
	const isNewest = isAtLeast(tensorrt, 11, 0) !== false;
	const newest = isNewest ? newestOpsetOf11 : (above?.newestOpset ?? at.newestOpset);
	if (opset <= newest) return [];
	const isMistake = opset > farthestOpset;
	const what = isMistake
		? `ONNX has no such operator set, and ${name} would guess what its operators mean`
		: `${name} documents up to ${newest} and may misread newer operators silently`;
	const severity = isMistake ? "error" : "warning";
	const message = `The model's opset is ${opset}; ${what}.`;
	return [finding("opset-too-new", message, { severity, fix: olderOpset(newest) })];
}

export const graphOutputs: Rule = ({ model }) =>
	model.onnx.graph.outputs.length > 0
		? []
		: [finding("graph-no-outputs", "The graph has no outputs: nothing can be computed or compared.")];

export const cycles: Rule = ({ scopes }) =>
	scopes.flatMap((scope) => {
		const node = nodeOnCycle(scope);
		if (node === undefined) return [];
		const what = "waits for its own output: the graph has a cycle";
		return [nodeFinding("graph-cycle", { node, scope }, { what })];
	});

function nodeOnCycle(scope: Scope) {
	const producers = producersOf(scope);
	const left = new Set(scope.nodes.keys());
	for (const index of runnable(producers)) left.delete(index);
	const seen = new Set<number>();
	let [at] = left;
	while (at !== undefined && !seen.has(at)) {
		seen.add(at);
		at = producers[at]?.find((from) => left.has(from)) ?? at;
	}
	return at === undefined ? undefined : scope.nodes[at];
}

export const names: Rule = ({ scopes, context }) => {
	const isOrt = context.backend === "onnxruntime";
	const given = new Map(scopes.map((scope) => [scope, namesGivenIn(scope)]));
	const knows = (scope: Scope, name: string) => foundIn(given, scope, name) !== null;
	return scopes.flatMap((scope) => [
		...scope.nodes.flatMap((node) =>
			[...new Set(node.inputs)].flatMap((name) => {
				if (name === "" || knows(scope, name)) return [];
				const what = `reads tensor ${quoteName(name)}, which no input, initialiser or node defines`;
				return [nodeFinding("tensor-undefined", { node, scope }, { what })];
			}),
		),
		...scope.outputs.flatMap((name) => {
			if (knows(scope, name)) return [];
			const message = `Output ${quoteName(name)} of ${scope.where} is not defined by any node, input or initialiser.`;
			return [finding("output-undefined", message)];
		}),
		...duplicateTensors(scope),
		...duplicateNodes(scope, isOrt),
	]);
};

function namesGivenIn({ inputs, initializers, nodes }: Scope) {
	const weights = initializers.map(({ name }) => name);
	const all = [...inputs, ...weights, ...nodes.flatMap((node) => node.outputs)];
	return new Map(all.map((name) => [name, true]));
}

/** Old files (IR < 4) list initialisers as inputs too, and repeated initialisers are tolerated: neither is an error. */
function duplicateTensors(scope: Scope) {
	const given = new Set([...scope.initializers.map(({ name }) => name), ...scope.inputs]);
	const made = scope.nodes.flatMap(({ outputs }) => outputs.filter((name) => name !== ""));
	const twice = [...repeated(scope.inputs), ...made.filter((name) => given.size === given.add(name).size)];
	return twice.map((name) =>
		finding("tensor-duplicate", `Tensor ${quoteName(name)} is defined more than once${inScope(scope)}.`),
	);
}

function repeated(list: readonly string[]) {
	const seen = new Set<string>();
	return new Set(list.filter((name) => seen.size === seen.add(name).size));
}

/** ONNX Runtime rejects it, but for Constants; in TensorRT it blurs the comparison of engines. */
function duplicateNodes(scope: Scope, isOrt: boolean) {
	if (isOrt && scope.kind === "function") return [];
	const named = scope.nodes.filter(
		({ name, op, domain }) => name !== "" && !(isOrt && op === "Constant" && domain === ""),
	);
	const result = isOrt ? ", which ONNX Runtime rejects" : "";
	return [...repeated(named.map(({ name }) => name))].map((name) =>
		finding(
			"node-name-duplicate",
			`More than one node is named ${quoteName(name)}${inScope(scope)}${result}.`,
			{
				severity: isOrt ? "error" : "warning",
			},
		),
	);
}

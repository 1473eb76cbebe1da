// What every preflight rule looks at, and the form of a rule.

import type { Precision } from "../../../../generated/config.ts";
import type { Finding } from "../../../../generated/result.ts";
import type { DimRange } from "../../config/config.ts";
import { groupBy } from "../../group.ts";
import { type FindingCode, type FindingKind, findingKinds } from "../finding-codes.ts";
import type { GivenShapes } from "../input-shapes/open-axes.ts";
import type { InspectedModel, OnnxInitializer, OnnxModel, OnnxNode } from "../model.ts";
import { quoteName } from "../quote.ts";
import { inferShapes, type StaticShapes } from "../static-shapes/infer.ts";
import { inferTypes, type TensorTypes } from "../static-shapes/types.ts";
import { type TensorRt, tensorRtOf } from "../tensorrt/support.ts";
import {
	type Constants,
	constantNamed,
	constantsIn,
	nodeLabel,
	readNames,
	type Scope,
	scopesOf,
} from "../walk.ts";

export interface PreflightContext {
	backend: "onnxruntime" | "tensorrt";
	tensorrt?: string | undefined;
	precision?: Precision;
	dims?: Readonly<Record<string, DimRange>>;
	shapes?: GivenShapes;
	plugins?: readonly string[];
	onnxKey?: string;
	loadsPlugins?: boolean;
	isCalibrated?: boolean;
	gpuMemoryBytes?: number | undefined;
	/** As nvidia-smi reports it: `9.0`. */
	computeCapability?: string | undefined;
	streamsWeights?: boolean;
}

export interface Subject {
	model: InspectedModel;
	context: PreflightContext;
	tensorrt: TensorRt | null;
	scopes: readonly Scope[];
	constants: Constants;
	static: StaticShapes;
	types: ReadonlyMap<Scope, TensorTypes>;
	read: ReadonlyMap<Scope, ReadonlySet<string>>;
}

/** A rule returns its findings about the subject; it never throws. */
export type Rule = (subject: Subject) => Finding[];

type Facts = Omit<Subject, "model" | "context" | "tensorrt">;

const factsByModel = new WeakMap<OnnxModel, Facts>();

export function subjectOf(model: InspectedModel, context: PreflightContext): Subject {
	const facts = factsByModel.get(model.onnx) ?? factsOf(model.onnx);
	factsByModel.set(model.onnx, facts);
	return {
		model,
		context,
		tensorrt: context.backend === "tensorrt" ? tensorRtOf(context.tensorrt) : null,
		...facts,
	};
}

function factsOf(model: OnnxModel): Facts {
	const scopes = scopesOf(model);
	const constants = constantsIn(scopes);
	const [graph] = scopes;
	const types = inferTypes(model, scopes, { constants });
	const shaped =
		graph === undefined
			? { shapes: new Map(), values: new Map(), faults: [], stopped: [] }
			: inferShapes(model, graph, {
					constants: constants.get(graph) ?? new Map(),
					types: types.get(graph) ?? new Map(),
				});
	return { scopes, constants, types, read: readNames(scopes), static: shaped };
}

interface FindingInit extends FindingKind {
	node?: OnnxNode;
}

/** @param init what differs from the other findings of the code. */
export function finding(code: FindingCode, message: string, init: FindingInit = {}): Finding {
	const { severity = "error", fix, node }: FindingInit = { ...findingKinds[code], ...init };
	const name = node === undefined ? "" : node.name || (node.outputs[0] ?? "");
	return { code, severity, message, fix, ...(name === "" ? {} : { node: quoteName(name, "") }) };
}

/** The findings of all nodes of all bodies. */
export function everyNode(
	{ scopes }: Subject,
	findingsOf: (node: OnnxNode, scope: Scope) => readonly Finding[],
): Finding[] {
	return scopes.flatMap((scope) => scope.nodes.flatMap((node) => findingsOf(node, scope)));
}

export function inScope(scope: Scope): string {
	return scope.kind === "graph" ? "" : ` in ${scope.where}`;
}

export function nodeIn(node: OnnxNode, scope: Scope): string {
	return `${nodeLabel(node)}${inScope(scope)}`;
}

export function constantOf(subject: Subject, scope: Scope, name: string | undefined): OnnxInitializer | null {
	return constantNamed(subject.constants, scope, name);
}

export interface NodeFault {
	node: OnnxNode;
	scope: Scope;
	code: FindingCode;
	fault: string;
	fix?: string;
}

export function foldFaults(faults: readonly NodeFault[]): Finding[] {
	const groups = groupBy(faults, ({ code, node, fault }) => `${code} ${node.op} ${fault}`);
	return [...groups.values()].flatMap((group) =>
		group.slice(0, 1).map(({ node, scope, code, fault, fix }) => {
			const message = `${nodeIn(node, scope)}${others(group.length)} ${fault}.`;
			return finding(code, message, fix === undefined ? { node } : { node, fix });
		}),
	);
}

export function others(count: number): string {
	return count === 1 ? "" : ` (${count} nodes)`;
}

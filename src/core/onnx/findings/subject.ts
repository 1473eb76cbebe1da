// The subject of every preflight rule, and the form of a finding.
import kinds from "../../../../data/finding-kinds.json" with { type: "json" };
import type { Precision } from "../../../../generated/config.ts";
import type { Finding } from "../../../../generated/result.ts";
import type { DimRange, TensorRtConfig } from "../../config/config.ts";
import { groupBy } from "../../group.ts";
import { quoteName } from "../../text/escape.ts";
import type { GivenShapes } from "../input-shapes/open-axes.ts";
import type { InspectedModel, OnnxInitializer, OnnxNode } from "../model.ts";
import { factsOf, type ModelFacts } from "../static-shapes/infer.ts";
import { type TensorRt, tensorRtOf } from "../tensorrt/support.ts";
import { foundIn, nodeLabel, type Scope } from "../walk.ts";

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
	computeCapability?: string | undefined;
	streamsWeights?: boolean;
	settings?: Pick<TensorRtConfig, "flags" | "dla" | "plugins">;
}

export interface Subject extends ModelFacts {
	model: InspectedModel;
	context: PreflightContext;
	tensorrt: TensorRt | null;
}

export type Rule = (subject: Subject) => Finding[];

export function subjectOf(model: InspectedModel, context: PreflightContext): Subject {
	const tensorrt = context.backend === "tensorrt" ? tensorRtOf(context.tensorrt) : null;
	return { ...factsOf(model.onnx), model, context, tensorrt };
}

/** Each code has a heading in docs/troubleshooting/preflight.md. */
export type FindingCode = keyof typeof kinds;

interface FindingKind {
	severity?: Finding["severity"];
	fix?: string;
}

export const findingKinds = kinds as Readonly<Record<FindingCode, FindingKind>>;

export function finding(
	code: FindingCode,
	message: string,
	init: FindingKind & { node?: OnnxNode | undefined } = {},
): Finding {
	const { severity = "error", fix, node }: typeof init = { ...findingKinds[code], ...init };
	const name = node === undefined ? "" : node.name || (node.outputs[0] ?? "");
	return { code, severity, message, fix, ...(name === "" ? {} : { node: quoteName(name, "") }) };
}

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

export function nodeFinding(
	code: FindingCode,
	{ node, scope }: { node: OnnxNode; scope: Scope },
	{ what, ...init }: FindingKind & { what: string },
): Finding {
	return finding(code, `${nodeIn(node, scope)} ${what}.`, { ...init, node });
}

export function constantOf(subject: Subject, scope: Scope, name: string | undefined): OnnxInitializer | null {
	return foundIn(subject.constants, scope, name);
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
	return [...groups.values()].map((group) => {
		const [{ node, scope, code, fault, ...fix }] = group;
		return finding(code, `${nodeIn(node, scope)}${others(group.length)} ${fault}.`, { node, ...fix });
	});
}

export function others(count: number): string {
	return count === 1 ? "" : ` (${count} nodes)`;
}

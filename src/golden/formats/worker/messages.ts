// Messages between trtgate and the golden worker; worker/README.md describes them.
import type { DType } from "../../../../generated/golden.ts";
import type { WorkerFigures } from "../../../core/compare/lifetime.ts";
import { isObject } from "../../../core/found.ts";
import { beginning, type Sequence, spansOf } from "../../core/sequence/sequence.ts";
import { elementBytes, type Tensor, type Tensors, tensorBytes } from "../../core/tensor/tensor.ts";
import { encodeHeader, type Header, type RawFrame } from "./frames.ts";

export interface WorkerHello {
	kind: "hello";
	tensorrt: string;
	device: string;
	/** A dtype may be one that goldens do not support, such as `float8_e8m0`. */
	engine: { inputs: readonly { name: string; dtype: string }[] } | null;
}

export type WorkerMessage =
	| WorkerHello
	| { kind: "result"; id: string; outputs: Tensors; figures?: WorkerFigures }
	| { kind: "error"; id: string | null; code: string; message: string; fatal: boolean }
	| { kind: "end" };

/** Types that TensorRT and ONNX name differently. TensorRT's FP8 is the one without infinities. */
const typesByWireName: ReadonlyMap<string, DType> = new Map([
	["float8_e4m3", "float8e4m3fn"],
	["float4_e2m1", "float4e2m1"],
]);
const wireNames: ReadonlyMap<DType, string> = new Map(
	[...typesByWireName].map(([wireName, dtype]) => [dtype, wireName]),
);

interface CaseOptions {
	beside?: readonly string[];
	runs?: number;
	ofBeside?: true;
	sequence?: Sequence;
}

export function encodeCase(
	id: string,
	given: Tensors,
	{ beside = [], runs, ofBeside, sequence }: CaseOptions = {},
): Uint8Array[] {
	const inputs = sequence === undefined ? given : { ...given, ...beginning(sequence, given) };
	const entries = Object.entries(inputs);
	const tensors = entries.map(([name, { dtype, shape, data }]) => ({
		name,
		dtype: wireNames.get(dtype) ?? dtype,
		shape,
		bytes: data.length,
	}));
	const parts = entries.map(([, { data }]) => data).filter((data) => data.length > 0);
	const payloadBytes = tensors.reduce((sum, { bytes }) => sum + bytes, 0);
	const kind = sequence !== undefined ? "sequence" : runs === undefined ? "case" : "start-up";
	const plan = sequence && { ...sequence, spans: spansOf(sequence, given).map(({ from, to }) => [from, to]) };
	const header = { kind, id, ...(beside.length === 0 ? {} : { beside }), runs, ofBeside, plan, tensors };
	return [encodeHeader(header, payloadBytes), ...parts];
}

export function parseMessage({ header, payload }: RawFrame): WorkerMessage | string {
	switch (header["kind"]) {
		case "hello":
			return parseHello(header);
		case "result":
			return parseResult(header, payload);
		case "figures":
			return figuresMessage(header, payload);
		case "error":
			return parseError(header);
		case "end":
			return { kind: "end" };
		default:
			return "a frame of unknown kind";
	}
}

function parseHello(header: Header) {
	const { tensorrt, device, engine } = header;
	if (typeof tensorrt !== "string" || !isObject(device) || typeof device["name"] !== "string")
		return "a hello without a version or a device";
	const known = { kind: "hello", tensorrt, device: device["name"] } as const;
	if (engine === null) return { ...known, engine: null };
	if (!isObject(engine)) return "a hello without an engine";
	const { inputs } = engine;
	if (Array.isArray(inputs) && inputs.every(isNamed)) return { ...known, engine: { inputs } };
	return "a hello with unreadable inputs";
}

function isNamed(value: unknown): value is Record<string, unknown> & { name: string; dtype: string } {
	return isObject(value) && typeof value["name"] === "string" && typeof value["dtype"] === "string";
}

function parseError(header: Header): WorkerMessage | string {
	const { id, code, message, fatal } = header;
	if (typeof code !== "string" || typeof message !== "string" || typeof fatal !== "boolean")
		return "an error without a message";
	if (id !== null && typeof id !== "string") return "an error with an invalid case";
	return { kind: "error", id, code, message, fatal };
}

function parseResult(header: Header, payload: Uint8Array): WorkerMessage | string {
	const { id, tensors } = header;
	if (typeof id !== "string" || !Array.isArray(tensors)) return "a result without a case";
	// An output may be named `__proto__`.
	const outputs: Record<string, Tensor> = Object.create(null);
	let unsupported: string | null = null;
	let at = 0;
	for (const entry of tensors) {
		if (!isEntry(entry)) return "a result with an unreadable tensor";
		if (Object.hasOwn(outputs, entry.name)) return `output ${entry.name} twice in one result`;
		const tensor = readTensor(entry, payload.subarray(at, at + entry.bytes));
		if (typeof tensor === "string") return tensor;
		if (tensor === null)
			unsupported ??= `output ${entry.name} has type ${entry.dtype}, which goldens do not support`;
		else outputs[entry.name] = tensor;
		at += entry.bytes;
	}
	if (at !== payload.length) return `a result with ${payload.length} bytes of tensors, expected ${at}`;
	return unsupported === null
		? { kind: "result", id, outputs }
		: { kind: "error", id, code: "unsupported-output", message: unsupported, fatal: false };
}

function figuresMessage({ id, ...header }: Header, payload: Uint8Array): WorkerMessage | string {
	const figures = readFigures(header, payload);
	if (typeof id !== "string" || figures === null) return "figures that cannot be read";
	return { kind: "result", id, outputs: {}, figures };
}

interface Entry {
	name: string;
	dtype: string;
	shape: number[];
	bytes: number;
}

/** Null if goldens do not support the type; a message if the bytes do not match the shape. */
function readTensor({ name, dtype: wireName, shape, bytes }: Entry, data: Uint8Array) {
	const dtype = typesByWireName.get(wireName) ?? wireName;
	if (!isDType(dtype)) return null;
	const expected = tensorBytes({ dtype, shape });
	if (bytes !== expected || data.length !== bytes)
		return `output ${name} has ${data.length} bytes, expected ${expected}`;
	return { dtype, shape, data };
}

function isEntry(value: unknown): value is Entry {
	if (!isNamed(value) || !Array.isArray(value["shape"])) return false;
	return [...value["shape"], value["bytes"]].every((size) => Number.isSafeInteger(size) && size >= 0);
}

function isDType(value: string): value is DType {
	return Object.hasOwn(elementBytes, value);
}

function readFigures(header: Readonly<Record<string, unknown>>, payload: Uint8Array): WorkerFigures | null {
	const { parts, runs, steps, samples, requests, counts } = header;
	if (typeof requests === "number") {
		const [latencyMs, latenessMs] = columnsOf([requests, requests], payload) ?? [];
		return latencyMs && latenessMs ? { latencyMs, latenessMs } : null;
	}
	if (isNumbers(counts)) {
		const [own, ownBeside, other, otherBeside] = columnsOf(counts, payload) ?? [];
		if (!own || !ownBeside || !other || !otherBeside) return null;
		return { aloneMs: [own, other], togetherMs: [ownBeside, otherBeside] };
	}
	const isStart = isObject(parts) && isNumbers(Object.values(parts)) && isNumbers(runs);
	const isSoak = isNumbers([steps]) && Array.isArray(samples) && samples.every(isNumbers);
	return isStart || isSoak ? (header as unknown as WorkerFigures) : null;
}

function isNumbers(value: unknown): value is number[] {
	return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "number");
}

/** Little-endian binary64, so many of each; null unless the payload has exactly these. */
function columnsOf(counts: readonly number[], payload: Uint8Array) {
	const total = counts.reduce((sum, count) => sum + count, 0);
	if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return null;
	if (payload.length !== 8 * total) return null;
	const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
	let at = 0;
	return counts.map((count) => Float64Array.from({ length: count }, () => view.getFloat64(8 * at++, true)));
}

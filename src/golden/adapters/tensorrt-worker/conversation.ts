// Talks to a golden worker, with several cases in flight, so that neither side waits for the other.

import type { Pipes } from "../../../adapters/process/spawn.ts";
import { float64Bytes } from "../../../formats/bytes/byte-source.ts";
import type { InferredCase, WorkerCase } from "../../../ports/backend.ts";
import type { Sequence } from "../../core/sequence/sequence.ts";
import type { Tensor } from "../../core/tensor/tensor.ts";
import { createFrameDecoder, encodeHeader } from "../../formats/worker/frames.ts";
import {
	encodeCase,
	parseMessage,
	type WorkerHello,
	type WorkerMessage,
} from "../../formats/worker/messages.ts";

const maxInFlight = 32;
const maxBytesInFlight = 64 * 1024 * 1024;

interface ConversationOptions {
	cases: readonly WorkerCase[];
	payloadBytes: number;
	sequence?: Sequence;
	onCase?(done: number): void;
	onFault(): void;
}

export interface Outcome {
	hello: WorkerHello | null;
	/** In the order of the cases; null for a case without an answer. */
	cases: readonly (InferredCase | null)[];
	ended: boolean;
	error: Extract<WorkerMessage, { kind: "error" }> | null;
	fault: string | null;
}

export function createConversation(options: ConversationOptions) {
	const { cases } = options;
	const decoder = createFrameDecoder({ payloadBytes: options.payloadBytes });
	const outcome: Outcome & { cases: (InferredCase | null)[] } = {
		hello: null,
		cases: new Array<InferredCase | null>(cases.length).fill(null),
		ended: false,
		error: null,
		fault: null,
	};
	const sender = createSender(options, (index, message) =>
		settle(index, { id: cases[index]?.id ?? "", state: "failed", message }),
	);
	let done = 0;
	const settle = (index: number, answer: InferredCase) => {
		outcome.cases[index] = answer;
		done += 1;
		options.onCase?.(done);
	};
	const greet = (hello: WorkerHello) => {
		if (outcome.hello !== null) return "a second hello";
		if (hello.engine === null && cases.length > 0) return "a hello without an engine";
		outcome.hello = hello;
		sender.start(hello);
		return null;
	};
	const takeAnswer = (message: Exclude<WorkerMessage, { kind: "hello" | "end" }>) => {
		if (message.kind === "error" && (message.fatal || message.id === null)) {
			outcome.error = message;
			return null;
		}
		const index = sender.answered(message.id ?? "");
		if (index === null) return "an answer to a case that was not sent";
		const id = cases[index]?.id ?? "";
		settle(
			index,
			message.kind === "error"
				? { id, state: "failed", message: message.message, code: message.code }
				: { id, state: "done", outputs: message.outputs, figures: message.figures },
		);
		return null;
	};
	const take = (message: WorkerMessage) => {
		if (message.kind === "hello") return greet(message);
		if (message.kind !== "end") return takeAnswer(message);
		outcome.ended = true;
		return null;
	};
	const read = (chunk: Uint8Array, input: Pipes["input"]) => {
		for (const frame of decoder.push(chunk)) {
			const message = parseMessage(frame);
			outcome.fault ??= typeof message === "string" ? message : take(message);
		}
		outcome.fault ??= decoder.broken();
		if (outcome.fault !== null) options.onFault();
		else if (outcome.hello !== null && outcome.error === null) sender.send(input);
	};
	return {
		talk({ input, output }: Pipes) {
			output.on("data", (chunk: Uint8Array) => {
				if (outcome.fault === null) read(chunk, input);
			});
		},
		outcome: () => outcome,
	};
}

/** On the wire, a case's id is its index, because users' ids may be long or duplicate. */
function createSender(
	{ cases, payloadBytes, sequence }: ConversationOptions,
	refuse: (index: number, message: string) => void,
) {
	const dtypes = new Map<string, string>();
	const inFlight = new Map<string, { index: number; bytes: number }>();
	let bytesInFlight = 0;
	let next = 0;
	const hasRoom = (bytes: number) =>
		inFlight.size === 0 || (inFlight.size < maxInFlight && bytesInFlight + bytes <= maxBytesInFlight);
	/** The number of cases that it wrote or refused: those that run together are one frame. */
	const write = (input: Pipes["input"], first: number) => {
		const group = groupAt(cases, first);
		const pieces = encodeFitting(group.map(String), cases[first], { dtypes, payloadBytes, sequence });
		if (typeof pieces === "string") {
			for (const index of group) refuse(index, pieces);
			return group.length;
		}
		const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
		if (!hasRoom(bytes)) return 0;
		for (const index of group) inFlight.set(String(index), { index, bytes: index === first ? bytes : 0 });
		bytesInFlight += bytes;
		for (const piece of pieces) input.write(piece);
		return group.length;
	};
	return {
		start(hello: WorkerHello) {
			for (const { name, dtype } of hello.engine?.inputs ?? []) dtypes.set(name, dtype);
		},
		send(input: Pipes["input"]) {
			if (next > cases.length || input.destroyed) return;
			// One system call for many small pieces.
			input.cork();
			for (let written = 1; next < cases.length && written > 0; next += written) written = write(input, next);
			if (next === cases.length) {
				next += 1;
				input.end(encodeHeader({ kind: "end" }));
			}
			input.uncork();
		},
		answered(wireId: string) {
			const found = inFlight.get(wireId);
			if (found === undefined) return null;
			inFlight.delete(wireId);
			bytesInFlight -= found.bytes;
			return found.index;
		},
	};
}

function groupAt(cases: readonly WorkerCase[], first: number) {
	const next = cases.findIndex(({ together }, index) => index > first && !together);
	return cases.slice(first, next < 0 ? undefined : next).map((_, offset) => first + offset);
}

export function encodeFitting(
	[wireId = "", ...beside]: readonly string[],
	{ inputs, refit, soak, load, atOnceMs, runs, ofBeside }: Omit<WorkerCase, "id" | "together"> = {
		inputs: {},
	},
	limits: {
		dtypes: Pick<ReadonlyMap<string, string>, "get">;
		payloadBytes: number;
		sequence?: Sequence;
	},
): Uint8Array[] | string {
	if (refit !== undefined) return [encodeHeader({ kind: "refit", id: wireId, weights: refit })];
	if (soak !== undefined) return [encodeHeader({ kind: "soak", id: wireId, ...soak })];
	if (atOnceMs !== undefined) return [encodeHeader({ kind: "together", id: wireId, budgetMs: atOnceMs })];
	if (load !== undefined) {
		const { arrivalsMs, ...request } = load;
		const arrivals = float64Bytes(arrivalsMs);
		return [encodeHeader({ kind: "load", id: wireId, ...request }, arrivals.length), arrivals];
	}
	const fitted: Record<string, Tensor> = Object.create(null);
	let bytes = 0;
	for (const [name, tensor] of Object.entries(inputs)) {
		const fit = fitInput(tensor, limits.dtypes.get(name) ?? tensor.dtype);
		if (typeof fit === "string") return `input ${name} ${fit}`;
		fitted[name] = fit;
		bytes += fit.data.length;
	}
	if (bytes > limits.payloadBytes)
		return `the inputs have ${bytes} bytes, a case may have ${limits.payloadBytes}`;
	try {
		return encodeCase(wireId, fitted, { beside, runs, ofBeside, sequence: limits.sequence });
	} catch (error) {
		return `the inputs cannot be sent: ${error instanceof Error ? error.message : String(error)}`;
	}
}

/**
 * TensorRT 8 takes int32 where the ONNX model has int64; the worker refuses other types by name.
 * A returned text explains why a value does not fit.
 */
export function fitInput(tensor: Tensor, dtype: string): Tensor | string {
	if (tensor.dtype !== "int64" || dtype !== "int32") return tensor;
	const count = tensor.data.length / 8;
	const from = new DataView(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
	const data = new Uint8Array(count * 4);
	const to = new DataView(data.buffer);
	for (let index = 0; index < count; index += 1) {
		const value = from.getBigInt64(index * 8, true);
		if (value !== BigInt.asIntN(32, value)) return `holds ${value}, which the engine's int32 does not hold`;
		to.setInt32(index * 4, Number(value), true);
	}
	return { dtype: "int32", shape: tensor.shape, data };
}

// Replaces weights that a replay never reads, so that a model packs well.
/** A protobuf number at a place, and where it ends. */
function varint(bytes: Uint8Array, at: number): [value: number, end: number] {
	let value = 0;
	for (let shift = 0; ; shift += 7) {
		const byte = bytes[at++] ?? 0;
		value += (byte & 127) * 2 ** shift;
		if (byte < 128) return [value, at];
	}
}

/** Field numbers and byte ranges of one protobuf message. */
function* fields(bytes: Uint8Array, from: number, to: number): Generator<{ field: number; from: number; to: number; value: number }> {
	let at = from;
	while (at < to) {
		const [tag, afterTag] = varint(bytes, at);
		const [value, afterValue] = varint(bytes, afterTag);
		const [field, wire] = [tag >>> 3, tag & 7];
		const end = wire === 0 ? afterValue : wire === 2 ? afterValue + value : afterTag + (wire === 1 ? 8 : 4);
		yield { field, from: wire === 2 ? afterValue : afterTag, to: end, value };
		at = end;
	}
}

/** The model with one value for its large weights (ModelProto.graph 7, GraphProto.initializer 5, TensorProto.raw_data 9). */
export function fillWeights(model: Uint8Array, value: number): Uint8Array {
	const pattern = new Uint8Array(Float32Array.of(value).buffer);
	const bytes = Uint8Array.from(model);
	for (const graph of fields(bytes, 0, bytes.length)) {
		if (graph.field !== 7) continue;
		for (const tensor of fields(bytes, graph.from, graph.to)) {
			if (tensor.field !== 5) continue;
			const parts = [...fields(bytes, tensor.from, tensor.to)];
			const isFloat = parts.some(({ field, value }) => field === 2 && value === 1);
			for (const { field, from, to } of parts) if (isFloat && field === 9 && to - from >= 256) for (let at = from; at < to; at += 4) bytes.set(pattern, at);
		}
	}
	return bytes;
}

/** Field numbers of onnx.proto: ModelProto.graph, GraphProto.initializer, TensorProto.data_type, .name, .raw_data. */
const field = { graph: 7, initializer: 5, dataType: 2, name: 8, rawData: 9 } as const;
const float32 = 1;

interface Entry {
	number: number;
	value: number;
	bytes: Uint8Array;
}

export interface Weight {
	name: string;
	offset: number;
	values: number;
}

function* entries(message: Uint8Array): Generator<Entry> {
	let at = 0;
	const varint = (): number => {
		let value = 0;
		for (let scale = 1; ; scale *= 128) {
			const byte = message[at++] ?? 0;
			value += (byte & 127) * scale;
			if (byte < 128) return value;
		}
	};
	while (at < message.length) {
		const tag = varint();
		const value = varint();
		const delimited = (tag & 7) === 2;
		yield {
			number: tag >>> 3,
			value,
			bytes: delimited ? message.subarray(at, at + value) : message.subarray(at, at),
		};
		if (delimited) at += value;
	}
}

/** Float weights by their place in the file. Knows only what the quickstart's models use: varints, and values as raw bytes. */
export function floatWeights(file: Uint8Array): Weight[] {
	const weights: Weight[] = [];
	for (const model of entries(file)) {
		if (model.number !== field.graph) continue;
		for (const graph of entries(model.bytes)) {
			if (graph.number !== field.initializer) continue;
			const parts = [...entries(graph.bytes)];
			const of = (number: number): Entry | undefined => parts.find((part) => part.number === number);
			const raw = of(field.rawData)?.bytes;
			if (of(field.dataType)?.value !== float32 || raw === undefined) continue;
			weights.push({
				name: new TextDecoder().decode(of(field.name)?.bytes),
				offset: raw.byteOffset - file.byteOffset,
				values: raw.length / 4,
			});
		}
	}
	return weights;
}

export function scaled(file: Uint8Array, weight: Weight, factor: number): Uint8Array {
	const copy = Uint8Array.from(file);
	const view = new DataView(copy.buffer, weight.offset, weight.values * 4);
	for (let index = 0; index < weight.values; index++)
		view.setFloat32(index * 4, view.getFloat32(index * 4, true) * factor, true);
	return copy;
}

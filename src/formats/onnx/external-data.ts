// Reads the pairs of a tensor's external data: which file, from where, how many bytes.
import type { OnnxExternalData } from "../../core/onnx/model.ts";
import type { WireReader } from "./wire.ts";

export function externalDataOf(wire: WireReader, tensor: string, pairs: readonly (readonly [string, string])[]): OnnxExternalData {
	const entries = new Map(pairs);
	const size = (key: string): number | null => {
		const text = entries.get(key);
		if (text === undefined || text === "") return null;
		const value = Number(text);
		if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
		throw wire.fault(
			`gives ${JSON.stringify(text.slice(0, 40))} as ${key} of the external data of tensor ${JSON.stringify(tensor.slice(0, 80))}`,
		);
	};
	return { location: entries.get("location") ?? "", offset: size("offset") ?? 0, length: size("length") };
}

/** A StringStringEntryProto, as external_data has them: key 1, value 2. */
export function readPair(wire: WireReader): [string, string] {
	let key = "";
	let value = "";
	wire.message((field) => {
		if (field === 1) key = wire.text();
		else if (field === 2) value = wire.text();
	});
	return [key, value];
}

// The test data sets that lie beside ONNX models: `test_data_set_N` folders with `input_i.pb` and `output_i.pb`.
import { tensorInvalid } from "./refusal.ts";

export interface TestDataSet {
	id: string;
	/** Paths as they were given, by place: `input_0.pb` is of the graph's first input. */
	inputs: readonly string[];
	outputs: readonly string[];
}

const filePattern = /(?:^|\/)(test_data_set_(\d{1,9}))\/(input|output)_(\d{1,4})\.pb$/;

/**
 * The sets among the files of a folder, by number; other files are left aside.
 * @throws ConfigError tensor-invalid where a place is empty: files are identified by their numbers alone.
 */
export function listTestDataSets(paths: readonly string[]): TestDataSet[] {
	const sets = new Map<string, { id: string; number: number; input: string[]; output: string[] }>();
	for (const path of paths) {
		const [, id, number, side, place] = filePattern.exec(path) ?? [];
		if (id === undefined || (side !== "input" && side !== "output")) continue;
		const set = sets.get(id) ?? { id, number: Number(number), input: [], output: [] };
		sets.set(id, set);
		set[side][Number(place)] = path;
	}
	const sorted = [...sets.values()].sort((a, b) => a.number - b.number || a.id.localeCompare(b.id));
	return sorted.map(({ id, input, output }) => ({
		id,
		inputs: withoutGaps(id, "input", input),
		outputs: withoutGaps(id, "output", output),
	}));
}

function withoutGaps(id: string, side: "input" | "output", paths: readonly string[]): readonly string[] {
	for (let place = 0; place < paths.length; place += 1) {
		if (paths[place] === undefined)
			throw tensorInvalid(id, `${side}_${place}.pb`, `${paths.length - 1} as the last, and a gap`);
	}
	return paths;
}

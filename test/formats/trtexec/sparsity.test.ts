import { expect, it } from "vitest";
import { createSparsityLog } from "../../../src/formats/trtexec/sparsity.ts";

const read = (...lines: string[]) => {
	const log = createSparsityLog();
	for (const line of lines) log.feed(line);
	return log.result();
};
const eligible = "[03/23/2021-00:14:05] [I] [TRT] (Sparsity) Layers eligible for sparse math:";
const picked =
	"[03/23/2021-00:14:05] [I] [TRT] (Sparsity) TRT inference plan picked sparse implementation for layers:";

it.each([
	["names", [`${eligible} conv1, conv2, conv3`, `${picked} conv2, conv3`], { eligible: 3, picked: 2 }],
	["no names", [eligible, picked], { eligible: 0, picked: 0 }],
	[
		"counts, the last of which are the engine's",
		[
			"[V] [TRT] (Sparsity) Found 3 layer(s) eligible to use sparse tactics",
			"[V] [TRT] (Sparsity) Found 39 layer(s) eligible to use sparse tactics: a",
			"[V] [TRT] (Sparsity) Chose 0 layer(s) using sparse tactics",
		],
		{ eligible: 39, picked: 0 },
	],
	["nothing", ["[I] Sparsity: Enabled"], { eligible: null, picked: null }],
])("a log with %s", (_, lines, expected) => expect(read(...lines)).toEqual(expected));

import fc from "fast-check";
import { expect, it } from "vitest";
import { parseReply, type Reply } from "../../../src/adapters/onnxruntime/protocol.ts";

const place = { name: "y", dtype: "float32", shape: [1, 2], path: "out-0-0.bin" } as const;

it.each<Reply>([
	{ kind: "failed", message: "no" },
	{ kind: "build", version: "1.30.0" },
	{
		kind: "infer",
		cases: [
			{ state: "failed", message: "x" },
			{ state: "done", outputs: [place] },
		],
	},
	{ kind: "count", instructions: 10, otherInput: 12.5 },
	{ kind: "profile", nodes: [] },
])("parseReply takes %j", (reply) => {
	expect(parseReply(JSON.stringify(reply))).toEqual(reply);
});

it.each([
	["nothing", ""],
	["half an object", '{"kind":"count"'],
	["a list", "[]"],
	["null", "null"],
	["no kind", "{}"],
	["another kind", '{"kind":"__proto__"}'],
	["a negative count", '{"kind":"count","instructions":-1,"otherInput":1}'],
	["a fraction other than a half", '{"kind":"count","instructions":1.25,"otherInput":1}'],
	["a count that is text", '{"kind":"count","instructions":"1","otherInput":1}'],
	["no count of other inputs", '{"kind":"count","instructions":1}'],
	["nodes that are no list", '{"kind":"profile","nodes":7}'],
	["cases that are no list", '{"kind":"infer","cases":7}'],
	["a case that is null", '{"kind":"infer","cases":[null]}'],
	["outputs that are no list", '{"kind":"infer","cases":[{"state":"done","outputs":{}}]}'],
	...Object.entries({
		"an unknown dtype": { dtype: "constructor" },
		"a negative size": { shape: [-1] },
		"a size that is text": { shape: ["2"] },
		"a path that leaves": { path: "../out.bin" },
		"an absolute path": { path: "/etc/passwd" },
		"a name that is a number": { name: 5 },
	}).map(([what, change]) => [
		what,
		JSON.stringify({ kind: "infer", cases: [{ state: "done", outputs: [{ ...place, ...change }] }] }),
	]),
])("parseReply refuses %s", (_what, text) => {
	expect(parseReply(text)).toBeNull();
});

it("parseReply never throws", () => {
	fc.assert(
		fc.property(fc.json(), (text) => {
			parseReply(text);
		}),
	);
});

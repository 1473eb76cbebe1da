// A worker's reply is read as a stranger's.
import fc from "fast-check";
import { expect, it } from "vitest";
import { parseReply, type Reply } from "../../../src/adapters/onnxruntime/protocol.ts";

const place = { name: "y", dtype: "float32", shape: [1, 2], path: "out-0-0.bin" } as const;

it.each<Reply>([
	{ kind: "failed", message: "no" },
	{ kind: "build", version: "1.30.0", saved: true },
	{
		kind: "infer",
		cases: [
			{ state: "failed", message: "x" },
			{ state: "done", outputs: [place] },
		],
	},
	{ kind: "measure", iterations: 10, timedMs: 12.5, peakMemoryBytes: null },
	{ kind: "measure", iterations: 10, timedMs: 12.5, peakMemoryBytes: 5 },
])("parseReply takes %j", (reply) => {
	expect(parseReply(JSON.stringify(reply))).toEqual(reply);
});

it.each([
	["nothing", ""],
	["half an object", '{"kind":"measure"'],
	["a list", "[]"],
	["null", "null"],
	["no kind", "{}"],
	["another kind", '{"kind":"__proto__"}'],
	["a negative count", '{"kind":"measure","iterations":-1,"timedMs":1,"peakMemoryBytes":null}'],
	["a fraction", '{"kind":"measure","iterations":1.5,"timedMs":1,"peakMemoryBytes":null}'],
	["memory that is text", '{"kind":"measure","iterations":1,"timedMs":1,"peakMemoryBytes":"1"}'],
	["a time below zero", '{"kind":"measure","iterations":1,"timedMs":-1,"peakMemoryBytes":null}'],
	["no time", '{"kind":"measure","iterations":1,"peakMemoryBytes":null}'],
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
	}).map(([what, change]) => [what, JSON.stringify({ kind: "infer", cases: [{ state: "done", outputs: [{ ...place, ...change }] }] })]),
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

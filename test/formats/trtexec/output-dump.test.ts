import { expect, it } from "vitest";
import {
	clashingDumpNames,
	dumpBytes,
	dumpDType,
	parseDumpLine,
	sanitiseTensorName,
} from "../../../src/formats/trtexec/output-dump.ts";
import { recordedCases, recordedLines, recordedMeta } from "./recorded.ts";

it("dumped tensors are reported by the log with name, type, shape and file", () => {
	const [name, path] = ["a to (with b) (1)", "a_to__with_b___1_.output.2.-1.int64.raw"];
	const line = `[I] Writing file for output binding ${name} (with datatype int64 and dimensions 2.-1) to ${path}`;
	expect(parseDumpLine(line)).toEqual({ name, io: "output", dtypeText: "int64", dims: [2, -1], path });
	expect(parseDumpLine("[I] Writing file for nothing")).toBeNull();
});

it("dumped tensors have the size that every recorded golden run wrote", () => {
	let compared = 0;
	for (const name of recordedCases("10.6").filter((entry) => entry.startsWith("golden-"))) {
		const wrote = new Map(recordedMeta(`10.6/${name}`).wrote.map((file) => [file.path, file.bytes]));
		for (const line of recordedLines(`10.6/${name}`)) {
			const tensor = parseDumpLine(line.text);
			if (!tensor) continue;
			const size = dumpBytes(tensor);
			if (size === null) expect(tensor.dims).toContain(-1);
			else expect(wrote.get(tensor.path)).toBe(size);
			compared++;
		}
	}
	expect(compared).toBeGreaterThan(60);
});

it.each([
	["fp32", [], 4, "float32"],
	["Half", [1, 3], 6, "float16"],
	["int4", [3], 2, null],
	["int64", [0, 5], 0, "int64"],
	["Bool", [1], 1, "bool"],
	["fp8", [-1], null, null],
	["constructor", [1], null, null],
	["__proto__", [1], null, null],
])(
	"dumped tensors of type %s and shape %j have %s bytes, and are %s in goldens",
	(text, dims, bytes, dtype) => {
		expect([dumpBytes({ dims, dtypeText: text }), dumpDType(text)]).toEqual([bytes, dtype]);
	},
);

it("dumped tensors share a file if their names differ only in odd characters", () => {
	expect(sanitiseTensorName("a/b:0")).toBe("a_b_0");
	expect(clashingDumpNames(["a/b", "a:b", "c", "__proto__"])).toEqual([["a/b", "a:b"]]);
});

// Names and sizes of raw dumps.
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
	expect(
		parseDumpLine(
			"[I] Writing file for output binding a to (with b) (1) (with datatype int64 and dimensions 2.-1) to a_to__with_b___1_.output.2.-1.int64.raw",
		),
	).toEqual({
		name: "a to (with b) (1)",
		io: "output",
		dtypeText: "int64",
		dims: [2, -1],
		path: "a_to__with_b___1_.output.2.-1.int64.raw",
	});
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

it("dumped tensors have sizes for scalars, 8.6's words and packed types", () => {
	expect(dumpBytes({ dims: [], dtypeText: "fp32" })).toBe(4);
	expect(dumpBytes({ dims: [1, 3], dtypeText: "Half" })).toBe(6);
	expect(dumpBytes({ dims: [3], dtypeText: "int4" })).toBe(2);
	expect(dumpBytes({ dims: [0, 5], dtypeText: "int64" })).toBe(0);
	expect(dumpBytes({ dims: [1], dtypeText: "constructor" })).toBeNull();
});

it("dumped tensors have types that goldens know, or none", () => {
	expect([dumpDType("fp16"), dumpDType("Bool"), dumpDType("fp8"), dumpDType("__proto__")]).toEqual([
		"float16",
		"bool",
		null,
		null,
	]);
});

it("dumped tensors share a file if their names differ only in odd characters", () => {
	expect(sanitiseTensorName("a/b:0")).toBe("a_b_0");
	expect(clashingDumpNames(["a/b", "a:b", "c", "__proto__"])).toEqual([["a/b", "a:b"]]);
});

// Test data sets beside ONNX models.
import { expect, it } from "vitest";
import { describeTensorProto } from "../../../src/formats/tensor/tensor-proto.ts";
import { listTestDataSets } from "../../../src/formats/tensor/test-data-sets.ts";
import oracle from "../../oracles/golden-files.json" with { type: "json" };

it("listTestDataSets orders sets and places by number, and leaves other files aside", () => {
	const paths = [
		"m/test_data_set_10/input_0.pb",
		"m/test_data_set_2/output_0.pb",
		"m/test_data_set_2/input_10.pb",
		...Array.from({ length: 10 }, (_, i) => `m/test_data_set_2/input_${9 - i}.pb`),
		"m/test_data_set_2/readme.txt",
		"m/model.onnx",
	];
	const sets = listTestDataSets(paths);
	expect(sets.map(({ id }) => id)).toEqual(["test_data_set_2", "test_data_set_10"]);
	expect(sets[0]?.inputs.at(-1)).toBe("m/test_data_set_2/input_10.pb");
	expect(sets[0]?.outputs).toEqual(["m/test_data_set_2/output_0.pb"]);
});

it("listTestDataSets refuses a gap", () => {
	expect(() => listTestDataSets(["test_data_set_0/input_1.pb"])).toThrow("expected input_0.pb");
});

it.each(oracle.proto)("describeTensorProto reads what onnx wrote: $name", ({ file, dtype, shape }) => {
	expect(describeTensorProto(Uint8Array.from(Buffer.from(file, "base64")), "y")).toMatchObject({
		dtype,
		shape,
	});
});

it.each([Uint8Array.of(8, 1, 16, 8), Uint8Array.of(1, 2, 3), new Uint8Array()])(
	"describeTensorProto refuses what is no tensor of numbers",
	(bytes) => {
		expect(() => describeTensorProto(bytes, "y")).toThrow("expected an ONNX TensorProto of numbers");
	},
);

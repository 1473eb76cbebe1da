// Which GPUs a job sees, and which one an index means.
import { describe, expect, it } from "vitest";
import { narrowDevices } from "../../../src/app/gpu/visible-devices.ts";

describe("narrowDevices", () => {
	it.each([
		[undefined, undefined, undefined],
		["0,1", undefined, "0,1"],
		["", undefined, ""],
		[undefined, "1", "1"],
		["2, 3", "1", "3"],
		["2,3", "2", ""],
		["", "0", ""],
		["GPU-aa,GPU-bb", "1", "GPU-bb"],
		["2,3", "GPU-cc", "GPU-cc"],
		[undefined, "MIG-1/2/3", "MIG-1/2/3"],
	])("of %j with device %j in the config lets children see %j", (visible, wanted, seen) => {
		expect(narrowDevices(visible, wanted)).toBe(seen);
	});
});

import { expect, it } from "vitest";
import { ConfigError } from "../../../src/core/errors.ts";
import { parseArrivals, ratePerSecond, schedule } from "../../../src/core/load/queues.ts";

it("schedule draws the same from a seed, and at another rate the same pattern", () => {
	const draw = (seed: number, perSecond: number) => schedule("poisson", { seed, count: 2000, perSecond });
	expect(draw(1, 100)).toEqual(draw(1, 100));
	expect(draw(1, 100)).not.toEqual(draw(2, 100));
	expect(draw(1, 200)[50]).toBeCloseTo((draw(1, 100)[50] ?? 0) / 2, 9);
	expect(ratePerSecond(draw(1, 100)) / 100).toBeCloseTo(1, 1);
	expect([...schedule("constant", { seed: 1, count: 3, perSecond: 100 })]).toEqual([0, 10, 20]);
});

it("parseArrivals reads a line each, from any start", () => {
	expect([...parseArrivals("1000.5\n1000.5\r\n1010\n1.2e3\n", "a.txt")]).toEqual([0, 0, 9.5, 199.5]);
});

it.each([
	["", /1 lines/],
	["5", /1 lines/],
	["1\n\n2\n1", /a.txt:3: 1 is before/],
	["1\n0x10", /a.txt:2: "0x10" is no time/],
	["1\nInfinity", /is no time/],
	["1\n1e999", /is no time/],
	["7\n7", /at once/],
	[`${"1\n".repeat(200_001)}`, /200001 lines/],
])("parseArrivals refuses a file: %#", (text, message) => {
	const parse = () => parseArrivals(text, "a.txt");
	expect(parse).toThrow(ConfigError);
	expect(parse).toThrow(message);
});

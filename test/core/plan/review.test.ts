import fc from "fast-check";
import { expect, it } from "vitest";
import type { GateResult } from "../../../generated/result.ts";
import { formatReview, parseReview } from "../../../src/core/plan/review.ts";

const lost: GateResult = {
	gate: "coverage",
	model: "net",
	engine: "fp16",
	workload: "batch 8",
	status: "fail",
	message: "The base checks this workload; the head no longer does.",
};

it("a review is the same after the way through an output, the worst first", () => {
	const change = { gate: "limit-change", model: "trtgate.yml" } as const;
	const listed: GateResult = { ...change, status: "pass", message: "20 % → 10 %." };
	const warned: GateResult = { ...listed, status: "warn", model: "net", message: "10 % → 400 %." };
	expect(parseReview(formatReview([listed, lost, warned]))).toEqual([lost, warned, listed]);
	expect(parseReview(formatReview([]))).toEqual([]);
});

it.each(["", " \n"])("a review that no plan made is none: %j", (text) => {
	expect(parseReview(text)).toEqual([]);
});

it("a review of any names and messages comes through", () => {
	const text = fc.string({ unit: "binary", maxLength: 300 });
	const gates = fc.constantFrom("coverage", "limit-change");
	const gate = fc.record({ gate: gates, model: text, status: fc.constant("warn"), message: text });
	fc.assert(
		fc.property(fc.array(gate, { maxLength: 20 }), (review) => {
			expect(parseReview(formatReview(review as GateResult[]))).toEqual(review);
		}),
	);
});

it("a review too long for an output keeps what fails, and cuts long messages", () => {
	const passed: GateResult[] = Array(1999).fill({ ...lost, status: "pass" });
	const many = [...passed, lost];
	const kept = parseReview(formatReview([...many, { ...lost, message: "x".repeat(100_000) }]));
	expect(kept).toHaveLength(500);
	expect(kept.slice(0, 2).map(({ status }) => status)).toEqual(["fail", "fail"]);
	expect(kept[1]?.message).toHaveLength(2000);
});

const changed = (changes: object) => JSON.stringify([{ ...lost, ...changes }]);

it.each([
	["no JSON", "{"],
	["no list", "{}"],
	["null", "null"],
	["a text", '"pass"'],
	["entries that are no mappings", "[null]"],
	["lists for entries", "[[]]"],
	["a gate that a plan does not judge", changed({ gate: "latency" })],
	["a gate named as a property of all objects", changed({ gate: "constructor" })],
	["an unknown status", changed({ status: "green" })],
	["no model", changed({ model: undefined })],
	["no message", changed({ message: undefined })],
	["a number for a name", changed({ engine: 1 })],
	["a message without end", changed({ message: "x".repeat(2001) })],
	["more than a plan writes", JSON.stringify(Array.from({ length: 501 }, () => lost))],
])("a review of %s is refused, with what to pass on", (_, text) => {
	expect(() => parseReview(text)).toThrow(
		expect.objectContaining({ code: "usage", fix: expect.stringContaining("`review`") }),
	);
});

it("a review copies only its own fields", () => {
	const text = `[${JSON.stringify({ ...lost, part: "l4", location: { path: "/etc/passwd" } }).slice(0, -1)},"__proto__":{"status":"pass"}}]`;
	expect(parseReview(text)).toEqual([lost]);
});

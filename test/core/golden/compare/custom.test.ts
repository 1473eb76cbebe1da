// What a command says is read with suspicion: anything but a clear answer is no pass.
import { describe, expect, it } from "vitest";
import type { GoldenOutput } from "../../../../generated/golden.ts";
import {
	type CommandAnswer,
	customCheck,
	parseCommandAnswer,
} from "../../../../src/core/golden/compare/custom.ts";
import { judgeCase } from "../../../../src/core/golden/compare/judge.ts";
import { caseInput, float32 } from "../../../support/golden-tensors.ts";

it.each<[string, string, number, CommandAnswer]>([
	["exit 0 alone is a pass", "", 0, { state: "answered", pass: true, value: null }],
	["exit 1 alone is none", "anything", 1, { state: "answered", pass: false, value: null }],
	[
		"the last line counts",
		'noise\n{"value":0.25,"detail":"patch 3"}\n',
		0,
		{ state: "answered", pass: true, value: 0.25, detail: "patch 3" },
	],
	["its own verdict counts", '{"value":0,"pass":false}', 0, { state: "answered", pass: false, value: 0 }],
	[
		"an exit of 1 is not talked away",
		'{"value":0,"pass":true}',
		1,
		{ state: "answered", pass: false, value: 0 },
	],
])("parseCommandAnswer %s", (_, stdout, exit, answer) => {
	expect(parseCommandAnswer(stdout, exit)).toEqual(answer);
});

it.each([
	["another exit code", "", 2],
	["half an object", '{"value": ', 0],
	["a value that is text", '{"value":"0"}', 0],
	["a value too large to be a number", '{"value":1e999}', 0],
	["a pass that is a number", '{"pass":1}', 0],
	["NaN, which is no JSON", '{"value":NaN}', 0],
])("parseCommandAnswer takes %s for no answer", (_, stdout, exit) => {
	expect(parseCommandAnswer(stdout, exit).state).toBe("failed");
});

it("parseCommandAnswer cuts what it says, and is not changed by keys of objects", () => {
	const answer = parseCommandAnswer(
		`{"__proto__":{"pass":false},"value":1,"detail":"${"x".repeat(9000)}"}`,
		0,
	);
	expect(answer).toMatchObject({ pass: true, value: 1 });
	expect(answer.state === "answered" && answer.detail?.length).toBe(500);
});

const y = float32([1, 2, 3]);
const spec = { kind: "custom", name: "lpips" } as const;

describe("a custom check", () => {
	const check = (answer: CommandAnswer, tolerance?: number) =>
		customCheck(
			"y",
			{ ...spec, ...(tolerance === undefined ? {} : { tolerance }) },
			{ answer, expected: y, precision: "fp16" },
		);

	it.each<[string, CommandAnswer, number | undefined, boolean]>([
		[
			"the command decides where there is no limit",
			{ state: "answered", pass: true, value: 9 },
			undefined,
			true,
		],
		["a limit is kept", { state: "answered", pass: true, value: 0.1 }, 0.1, true],
		["a limit is broken", { state: "answered", pass: true, value: 0.2 }, 0.1, false],
		["a limit needs a value", { state: "answered", pass: true, value: null }, 0.1, false],
		["the command may be stricter than the limit", { state: "answered", pass: false, value: 0 }, 0.1, false],
		["no answer is no pass", { state: "failed", message: "it died" }, undefined, false],
	])("a custom check %s", (_, answer, tolerance, pass) => {
		expect(check(answer, tolerance).pass).toBe(pass);
	});

	it("a custom check is part of the verdict, and missing answers are no match", () => {
		const specs: Record<string, GoldenOutput> = { y: { comparators: [spec] } };
		const of = (answers: ReadonlyMap<string, readonly CommandAnswer[]>) =>
			judgeCase(caseInput({ y }, { y }, { specs, answers })).state;
		expect(of(new Map([["y", [{ state: "answered", pass: true, value: null }]]]))).toBe("match");
		expect(of(new Map([["y", [{ state: "answered", pass: false, value: null }]]]))).toBe("mismatch");
		expect(of(new Map())).toBe("mismatch");
	});
});

// Answers of commands are read with suspicion: anything but a clear answer does not pass.
import { describe, expect, it } from "vitest";
import type { GoldenOutput } from "../../../../generated/golden.ts";
import {
	type CommandAnswer,
	customCheck,
	parseCommandAnswer,
} from "../../../../src/golden/core/compare/check-output.ts";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { caseInput, float32 } from "../../../support/golden-tensors.ts";

const lastLine = 'noise\n{"value":0.25,"detail":"patch 3"}\n';
it.each<[string, string, number, object]>([
	["passes on exit 0 alone", "", 0, { pass: true, value: null }],
	["fails on exit 1 alone", "anything", 1, { pass: false, value: null }],
	["reads the last line", lastLine, 0, { pass: true, value: 0.25, detail: "patch 3" }],
	["takes the command's own verdict", '{"value":0,"pass":false}', 0, { pass: false, value: 0 }],
	["fails on exit 1 whatever the JSON says", '{"value":0,"pass":true}', 1, { pass: false, value: 0 }],
])("parseCommandAnswer %s", (_, stdout, exit, answer) => {
	expect(parseCommandAnswer(stdout, exit)).toEqual({ state: "answered", ...answer });
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
	const said = `{"__proto__":{"pass":false},"value":1,"detail":"${"x".repeat(9000)}"}`;
	expect(parseCommandAnswer(said, 0)).toMatchObject({ pass: true, value: 1, detail: "x".repeat(500) });
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

	const answer = (pass: boolean, value: number | null): CommandAnswer => ({ state: "answered", pass, value });
	it.each<[string, CommandAnswer, number | undefined, boolean]>([
		["passes where the command decides without a limit", answer(true, 9), undefined, true],
		["passes where the limit is kept", answer(true, 0.1), 0.1, true],
		["fails where the limit is broken", answer(true, 0.2), 0.1, false],
		["fails where a limit has no value", answer(true, null), 0.1, false],
		["fails where the command is stricter than the limit", answer(false, 0), 0.1, false],
		["fails without an answer", { state: "failed", message: "it died" }, undefined, false],
	])("a custom check %s", (_, given, tolerance, pass) => {
		expect(check(given, tolerance).pass).toBe(pass);
	});

	it("a custom check is part of the verdict, and a missing answer is not a match", () => {
		const specs: Record<string, GoldenOutput> = { y: { comparators: [spec] } };
		const of = (answers: ReadonlyMap<string, readonly CommandAnswer[]>) =>
			judgeCase(caseInput({ y }, { y }, { specs, answers })).state;
		expect(of(new Map([["y", [answer(true, null)]]]))).toBe("match");
		expect(of(new Map([["y", [answer(false, null)]]]))).toBe("mismatch");
		expect(of(new Map())).toBe("mismatch");
	});
});

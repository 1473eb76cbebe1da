// The terminal report: plain, narrow, coloured, hostile.
import { describe, expect, it } from "vitest";
import { renderTerminal } from "../../../src/core/report/terminal.ts";
import { fitText, renderColumns, textWidth, wrapText } from "../../../src/core/report/terminal-text.ts";
import { buildGate, buildResult, buildSlowWorkload } from "../../support/build-result.ts";
import { diffOf } from "../../support/recorded-engines.ts";
import { resultCases } from "../../support/result-cases.ts";
import { transformerPair } from "../../support/transformer-engines.ts";

describe.each(Object.entries(resultCases))("renderTerminal of %s", (name, result) => {
	it("renderTerminal is plain text without colour", () => {
		expect(renderTerminal(result, { color: false, columns: 100 })).not.toMatch(
			/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/,
		);
	});

	it("renderTerminal differs with colour only in colour", () => {
		const colored = renderTerminal(result, { color: true, columns: 100 });
		expect(colored).toContain("\u001b[1m");
		expect(colored.replace(/\u001b\[\d+m/g, "")).toBe(renderTerminal(result, { color: false, columns: 100 }));
	});

	it("renderTerminal says state and headline in its first line", () => {
		expect(renderTerminal(result, { color: false, columns: 200 }).split("\n")[0]).toMatch(
			/^(PASSED|PASSED WITH WARNINGS|FAILED|INCONCLUSIVE|COULD NOT DECIDE) {2}\S/,
		);
	});

	it.runIf(name !== "hostile")(
		"renderTerminal keeps its lines within 80 columns, words that cannot break aside",
		() => {
			for (const line of renderTerminal(result, { color: false, columns: 80 }).split("\n")) {
				if (!line.startsWith("  │")) expect(textWidth(line), line).toBeLessThanOrEqual(82);
			}
		},
	);
});

it("renderTerminal reports what to do next and where the files are", () => {
	const result = resultCases["build-refused"];
	const text = result === undefined ? "" : renderTerminal(result, { color: false, columns: 100 });
	expect(text).toContain("What to do next\n  - Replace the operator in the export");
	expect(text).toMatch(/^Files: 2\n.*\nreport\.html/m);
});

it.each([
	["out/$&/result.json", "trtgate explain 'out/$&/result.json'"],
	["my runs/result.json", "trtgate explain 'my runs/result.json'"],
	["out/result.json", "trtgate explain out/result.json"],
])("renderTerminal says how to explain the result at %s", (resultPath, command) => {
	const { base, head } = transformerPair(2);
	const workload = buildSlowWorkload({
		explanation: diffOf(base, head, { enginesMs: { base: 3, head: 3.7 } }),
	});
	const gates = [buildGate({ ...workload, gate: "latency", status: "fail", message: "slower" })];
	const text = renderTerminal(buildResult({ outcome: "fail", workloads: [workload], gates }), {
		color: false,
		columns: 200,
		resultPath,
	});
	expect(text).toContain(`\`${command}\``);
});

it("layout counts columns", () => {
	expect(textWidth("abc µs")).toBe(6);
	expect(textWidth("漢字🚀")).toBe(6);
	expect(textWidth("e\u0301")).toBe(1);
});

it("layout wraps between words and cuts with a mark", () => {
	expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
	expect(wrapText("a/very/long/path/that/is/copied x", 10)).toEqual(["a/very/long/path/that/is/copied", "x"]);
	expect(wrapText("", 10)).toEqual([]);
	expect(fitText("abcdef", 4)).toBe("ab…f");
});

it("layout never cuts two names into equal ones", () => {
	const rows = [
		"detector with a very long name · fp16 · batch 1",
		"detector with a very long name · fp32 · batch 1",
	].map((text) => [{ text }, { text: "slower" }]);
	const lines = renderColumns(rows, { color: false, columns: 20 });
	expect(new Set(lines).size).toBe(2);
	expect(lines[0]).toContain("…");
});

it("layout drops whole columns where there is no room", () => {
	const row = ["a long name of a workload", "slower", "27.91 µs", "29.02 µs"].map((text) => ({ text }));
	expect(renderColumns([row], { color: false, columns: 30 })).toEqual(["a long name…a workload  slower"]);
});

import { expect, it } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { renderColumns, renderTerminal, textWidth, wrapText } from "../../../src/core/report/terminal.ts";
import { buildResult, buildSlowWorkload } from "../../support/build-result.ts";
import { diffOf } from "../../support/recorded-engines.ts";
import { resultCases } from "../../support/result-cases.ts";
import { transformerPair } from "../../support/transformer-engines.ts";

const cases = Object.entries(resultCases);
const plain = (of: Result, columns: number, resultPath?: string) =>
	renderTerminal(of, { color: false, columns, ...(resultPath && { resultPath }) });

it.each(cases)(
	"renderTerminal of %s is plain text, its state first, and colour adds only colour",
	(_, of) => {
		const bare = plain(of, 100);
		expect(bare).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
		expect(bare).toMatch(/^(PASSED|PASSED WITH WARNINGS|FAILED|INCONCLUSIVE|COULD NOT DECIDE) {2}\S/);
		const colored = renderTerminal(of, { color: true, columns: 100 });
		expect(colored).toContain("\u001b[1m");
		expect(colored.replace(/\u001b\[\d+m/g, "")).toBe(bare);
	},
);

// A word that cannot break may be longer.
it.each(cases.filter(([name]) => name !== "hostile"))(
	"renderTerminal of %s keeps within 80 columns",
	(_, of) => {
		const lines = plain(of, 80).split("\n");
		for (const line of lines.filter((one) => !one.startsWith("  │")))
			expect(textWidth(line), line).toBeLessThanOrEqual(82);
	},
);

it("renderTerminal reports what to do next and where the files are", () => {
	expect(plain(resultCases["build-refused"]!, 100)).toMatch(
		/What to do next\n {2}- Replace the operator in the export[\s\S]*^Files: 2\n.*\nreport\.html/m,
	);
});

it("renderTerminal says how to explain the result at its path, and cuts no file's path", () => {
	const { base, head } = transformerPair(2);
	const explanation = diffOf(base, head, { enginesMs: { base: 3, head: 3.7 } });
	const result = buildResult({ outcome: "fail", workloads: [buildSlowWorkload({ explanation })] });
	for (const [resultPath, shown] of [
		["out/$&/result.json", "'out/$&/result.json'"],
		["my runs/result.json", "'my runs/result.json'"],
		["out/result.json", "out/result.json"],
	] as const)
		expect(plain(result, 200, resultPath)).toContain(`\`trtgate explain ${shown}\``);
	const path = `layers/${"very-".repeat(12)}long-name.layers.json`;
	const files = [{ path, what: "layers" }];
	expect(plain(buildResult({ files }), 60)).toContain(`\n${path}\n`);
});

it("layout counts columns, wraps between words, and never cuts one", () => {
	expect(["abc µs", "漢字🚀", "e\u0301"].map(textWidth)).toEqual([6, 6, 1]);
	expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
	expect(wrapText("a/very/long/path/that/is/copied x", 10)).toEqual(["a/very/long/path/that/is/copied", "x"]);
	expect(wrapText("", 10)).toEqual([]);
});

it.each([
	["wraps names", 40, ["a long name of a workload  slower  28 µs"]],
	["wraps names first", 39, ["a long name of a          slower  28 µs", "workload"]],
	["then drops whole columns, but not the second", 30, ["a long name of a          slower", "workload"]],
])("layout %s if there is little room", (_, columns, expected) => {
	const row = ["a long name of a workload", "slower", "28 µs"].map((text) => ({ text }));
	expect(renderColumns([row], { color: false, columns })).toEqual([expected]);
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { standardStreams } from "../../../src/adapters/process/standard-streams.ts";

function written(isActions: boolean, write: (streams: ReturnType<typeof standardStreams>) => void) {
	let text = "";
	const log = { write: (part: string) => (text += part) };
	write(standardStreams({ isActions }, { out: log, err: log }));
	return text;
}

const part = fc.constantFrom(..."::|:|##|[|#|error::x| |\t|\n|\r|\u0085|\u2028|std::bad_alloc|x".split("|"));

it("standardStreams let no command through in a workflow, and change nothing else", () => {
	fc.assert(
		fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
			const text = written(true, ({ out }) => parts.forEach((part) => void out(part)));
			// Splits like the runner: lines end at \r and \n, and .NET's blanks may precede a command.
			for (const line of text.split(/[\r\n]/)) expect(line).not.toMatch(/^[\s\u0085]*::|##\[/);
			expect(text.replaceAll("\u200b", "")).toBe(parts.join(""));
		}),
		{ numRuns: 2000 },
	);
});

it("standardStreams leave text unchanged outside a workflow", () => {
	const parts = ["::error::x\n", "##[group]y"];
	expect(written(false, ({ out }) => parts.forEach((part) => void out(part)))).toBe(parts.join(""));
});

it("standardStreams write our own commands, and escape text that would end them", () => {
	const text = written(true, ({ command }) => command("group", "100 %\n::error::x"));
	expect(text).toBe("::group::100 %25%0A::error::x\n");
});

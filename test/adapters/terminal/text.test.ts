// Users' words on one line, and waits for people.
import { expect, it } from "vitest";
import { cleanLine, fitColumns, formatWait } from "../../../src/adapters/terminal/progress.ts";

it("cleanLine keeps words, drops escapes, controls and direction marks", () => {
	expect(cleanLine(" a\u001b]8;;http://x\u0007b\u001b]8;;\u0007\r\nc\u202ed ")).toBe("ab c d");
});

it("fitColumns cuts between code points", () => {
	expect(fitColumns("🥊🥊🥊", 2)).toBe("🥊…");
	expect(fitColumns("abc", 3)).toBe("abc");
});

it.each([
	[-5, "0 s"],
	[59_400, "59 s"],
	[60_000, "1 min"],
	[125_000, "2 min 5 s"],
	[3_600_000, "1 h 0 min"],
	[5_430_000, "1 h 30 min"],
])("formatWait says %d ms as %s", (ms, text) => {
	expect(formatWait(ms)).toBe(text);
});

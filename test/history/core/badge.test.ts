import { expect, it } from "vitest";
import { palettes } from "../../../src/core/report/html/style.ts";
import { badgeOf } from "../../../src/history/core/badge.ts";
import { compact, readHistory } from "../../../src/history/core/files.ts";
import { buildResult } from "../../support/build-result.ts";
import { readMarkup } from "../../support/read-markup.ts";

const outcomes = ["pass", "warn", "fail", "inconclusive", "error"] as const;
const badge = (outcome: (typeof outcomes)[number], path = "trtgate.yml") =>
	badgeOf({
		...buildResult(),
		outcome,
		startedAt: "2026-11-28T03:00:00.000Z",
		config: { ...buildResult().config, path },
	});

const channel = (part: string) => {
	const share = Number.parseInt(part, 16) / 255;
	return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};
const luminance = (colour: string) => {
	const [red = 0, green = 0, blue = 0] = (colour.slice(1).match(/../g) ?? []).map(channel);
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

it.each([
	["pass", "passed", "ok"],
	["warn", "passed with warnings", "warn"],
	["fail", "failed", "bad"],
	["inconclusive", "inconclusive", "open"],
	["error", "could not decide", "bad"],
] as const)("the badge of %s says so, with its date and a readable colour", (outcome, words, tone) => {
	const { path, text } = badge(outcome);
	expect(path).toBe("badge.svg");
	expect(text).toContain(`<title>trtgate: ${words}, 2026-11-28</title>`);
	const colours = [...text.matchAll(/fill="(#[0-9a-f]{6})"/g)].map(([, colour = ""]) => colour);
	expect(colours).toEqual([expect.any(String), palettes.light[tone]]);
	for (const colour of colours) expect(1.05 / (luminance(colour) + 0.05)).toBeGreaterThanOrEqual(4.5);
});

it("the badge is escaped, loads nothing, and has a file of its own for each config", () => {
	const { path, text } = badge("pass", '"><script>x</script>.yml');
	expect(path).toBe("badge--script-x-script-yml.svg");
	expect(text).not.toMatch(/<script|href|url\(h/);
	expect(text).toContain("trtgate &quot;&gt;&lt;script");
	expect(() => readMarkup(text, "xml")).not.toThrow();
});

it("a history with a badge skips nothing, and compaction keeps it", () => {
	const files = [badge("pass"), badge("fail", "gpu/trtgate.yml")];
	expect(readHistory(files)).toEqual({ records: [], skipped: [] });
	expect(compact(files, "2026-12")).toBeNull();
});

import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	cleanName,
	cleanText,
	disarmCommands,
	escapeHtml,
	escapeMarkdown,
	escapeXml,
	jsonText,
	markdownCode,
	markdownFence,
	shellWord,
	shorten,
} from "../../../src/core/text/escape.ts";
import { anyText } from "../../support/any-text.ts";

it.each([
	["\u001b[31mred\u001b[0m", "red"],
	["\u001b]0;title\u0007after", "after"],
	["\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\", "link"],
	["\u001b(Bplain", "plain"],
	["a\r\nb\tc\u2028d", "a b c d"],
	["\u202egnp.exe\u202c", "gnp.exe"],
	["net\u061c12\u206a.\u{e0041}onnx", "net12.onnx"],
	["lone \ud800 half", "lone \ufffd half"],
	["nul\u0000", "nul "],
	["é 漢字 🚀", "é 漢字 🚀"],
])("cleanText turns %j into %j", (text, clean) => {
	expect(cleanText(text)).toBe(clean);
});

it("cleanText leaves no control character, reordering mark or lone surrogate", () => {
	fc.assert(
		fc.property(anyText(200), (text) => {
			expect(cleanText(text)).not.toMatch(
				/[\u0000-\u001f\u007f-\u009f\u061c\u202a-\u202e\u2066-\u206f\u2028\u2029]|\p{Surrogate}/u,
			);
		}),
	);
});

it("shorten cuts the middle out of long texts, and an invisible name is replaced", () => {
	expect(shorten("short", 10)).toBe("short");
	expect(cleanName("\u0000\n")).toBe("(no name)");
	expect(cleanName("x".repeat(300))).toHaveLength(80);
	expect(shorten(`models/${"x".repeat(300)}/net.onnx`, 40)).toMatch(/^models\/.{25}net\.onnx$/);
});

it("shorten never cuts a character in two", () => {
	const texts = fc.string({ unit: "grapheme", maxLength: 300 });
	fc.assert(
		fc.property(texts, fc.integer({ min: 3, max: 80 }), (text, max) => {
			const cut = shorten(text, max);
			expect([...cut].length).toBeLessThanOrEqual(max);
			if (!/\p{Surrogate}/u.test(text)) expect(cut).not.toMatch(/\p{Surrogate}/u);
		}),
	);
});

it.each([
	["a|b", "a\\|b"],
	["two\nlines", "two lines"],
	["`code`", "\\`code\\`"],
	["<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"],
	["<!-- x -->", "&lt;!-- x --&gt;"],
	["[x](http://e.x)", "\\[x\\](http:\u200d//e.x)"],
	["@everyone", "@\u200deveryone"],
	["#12 GH-7", "\\#\u200d12 GH-\u200d7"],
	["a:tada::+1:b", "a:\u200dtada::\u200d+1:b"],
	[":white_check_mark:", ":\u200dwhite\\_check\\_mark:"],
	["a:100:b", "a:\u200d100:b"],
	["trtgate.yml:9:1: 12:30:15", "trtgate.yml:9:1: 12:30:15"],
	["www.evil.example", "www\u200d.evil.example"],
	["__proto__", "\\_\\_proto\\_\\_"],
	["$x$ ~~y~~ *z*", "\\$x\\$ \\~\\~y\\~\\~ \\*z\\*"],
	["- item", "\\- item"],
	["1. item", "1\\. item"],
	["+4.2 %", "+4.2 %"],
	["&lt;b&gt;", "&amp;lt;b&amp;gt;"],
	["back\\slash", "back\\\\slash"],
])("escapeMarkdown turns %j into %j", (text, escaped) => {
	expect(escapeMarkdown(text)).toBe(escaped);
});

it("escapeMarkdown lets no live markup through, whatever the text", () => {
	fc.assert(
		fc.property(anyText(200), (text) => {
			const escaped = escapeMarkdown(text).replace(/\\[\\`*_[\]|~$#=.)+-]/g, "");
			expect(escaped).not.toMatch(/[`*_[\]|~$<>\n\\]|@\w|:\/\//);
		}),
	);
});

it("markdownCode uses backticks if nothing can break out of them, else HTML", () => {
	for (const text of ["/layer3/conv2 + relu", "__myl_Res_0"]) expect(markdownCode(text)).toBe(`\`${text}\``);
	for (const text of ["a`b", "a|b", "<x>", "a\nb`", " ", "@team"])
		expect(markdownCode(text)).toBe(`<code>${escapeMarkdown(text)}</code>`);
});

it("markdownFence is longer than any fence inside it", () => {
	expect(markdownFence(["a", "````", "b"])).toBe("`````text\na\n````\nb\n`````");
	expect(markdownFence([])).toBe("```text\n\n```");
});

it("escapeHtml writes entities, and escapeXml leaves nothing that XML 1.0 forbids", () => {
	expect(escapeHtml(`<a href="x" b='y'>&`)).toBe("&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
	fc.assert(
		fc.property(anyText(200), (text) => {
			expect(escapeXml(`${text}\ufffe\uffff\u0008`)).not.toMatch(
				/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff<>"']|\p{Surrogate}/u,
			);
		}),
	);
});

it("disarmCommands disarms commands after line breaks and blanks, the old form anywhere, and nothing else", () => {
	const first = ["::error::x", "  ::add-mask::x", "\u3000::x::", "\v::x::", "\r::error::x", "\r\n \f::x::"];
	const later = ["a\n\t::set-output name=outcome::pass", "a\u0085 ::error::x", "a\u2028::x::"];
	for (const text of [...first, ...later]) expect(disarmCommands(text)).toBe(text.replace("::", ":\u200b:"));
	expect(disarmCommands("::::error::")).not.toMatch(/^::/);
	expect(disarmCommands("a ##[error]b")).not.toContain("##[");
	expect(disarmCommands("nvinfer1::IBuilder, 12:30 ## [x]")).toBe("nvinfer1::IBuilder, 12:30 ## [x]");
});

it("jsonText means the same, and holds nothing to disarm", () => {
	const part = fc.constantFrom("##[error]", "\u2028::x", "::x::", "\u0085::", "\n", "#", "[", '"', "\\");
	fc.assert(
		fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
			const value = { [parts.join("")]: parts };
			const text = jsonText(value);
			expect(JSON.parse(text)).toEqual(value);
			expect(disarmCommands(text)).toBe(text);
		}),
	);
});

it("shellWord gives a shell every text back, without what a terminal would obey or hide", () => {
	const texts = ["a b", "it's", "$(id) `id` \\", "\u001b]0;it's\u0007\\n", "\u202egnp", "é\u0085\n🚀"];
	const words = texts.map(shellWord);
	expect(words.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
	const { stdout } = spawnSync("bash", ["-c", `printf '%s\\0' ${words.join(" ")}`], {
		...{ encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } },
	});
	expect(stdout.split("\0").slice(0, -1)).toEqual(texts);
});

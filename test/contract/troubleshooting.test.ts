import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { bugCodes, configCodes, platformCodes, toolCodes } from "../../src/core/errors.ts";
import { rules } from "../../src/formats/onnxruntime/failures.ts";

const ortFailureCodes = [...new Set([...rules.map(({ code }) => code), "ort-load-failed"])];

const headings = (path: string): string[] =>
	[...readFileSync(path, "utf8").matchAll(/^### `([^`]+)`$/gm)].map((match) => match[1] ?? "");

it("the documentation has a heading for every error code, and none without a code", () => {
	const codes = [...configCodes, ...toolCodes, ...bugCodes];
	expect(headings("docs/troubleshooting.md").sort()).toEqual([...codes].sort());
});

it("the documentation has a heading for every fault of GitHub", () => {
	expect(headings("docs/troubleshooting/github.md").sort()).toEqual([...platformCodes].sort());
});

it("the documentation has a heading for every refusal of ONNX Runtime", () => {
	expect(headings("docs/troubleshooting/onnxruntime.md").sort()).toEqual([...ortFailureCodes].sort());
});

it("the documentation links to every page of troubleshooting", () => {
	const text = readFileSync("docs/troubleshooting.md", "utf8");
	for (const page of readdirSync("docs/troubleshooting")) expect(text).toContain(`(troubleshooting/${page})`);
});

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { catalogue } from "../../../src/formats/trtexec/failures/catalogue.ts";

const codes = Object.values(catalogue).flatMap((rules) => rules.map(({ code }) => code));
const diagnosisCodes = new Set(["ok", "unverified", "unknown", ...codes]);
const page = readFileSync(new URL("../../../docs/troubleshooting/trtexec.md", import.meta.url), "utf8");
const sections = [...page.matchAll(/^### `([^`]+)`\n([\s\S]*?)(?=^#|(?![\s\S]))/gm)];
const headings = sections.map((section) => section[1] ?? "");

it("docs/troubleshooting/trtexec.md has one heading for each code and no other", () => {
	expect([...headings].sort()).toEqual([...diagnosisCodes].sort());
});

it("docs/troubleshooting/trtexec.md says something of use under each heading", () => {
	for (const [, code, text = ""] of sections) {
		expect(code).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
		expect(text.trim().length, code).toBeGreaterThan(40);
		expect(text.trim().split("\n").length, code).toBeLessThanOrEqual(6);
	}
});

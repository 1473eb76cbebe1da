import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { readSurfaces } from "../../scripts/actions-table.ts";
import { codeSpansOf, pages } from "../support/pages.ts";

const proseOf = (path: string): string =>
	readFileSync(path, "utf8")
		.replace(/^```[\s\S]*?^```/gm, "")
		.replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()#]/g, " "));

/** As GitHub makes them, which numbers repeated headings. */
function anchorsOf(path: string): Set<string> {
	const seen = new Map<string, number>();
	const text = readFileSync(path, "utf8").replace(/^```[\s\S]*?^```/gm, "");
	const anchors = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => {
		const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
		const anchor = plain.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/ /g, "-");
		const before = seen.get(anchor) ?? 0;
		seen.set(anchor, before + 1);
		return before === 0 ? anchor : `${anchor}-${before}`;
	});
	return new Set(anchors);
}

const repositoryPath =
	/^(src|docs|test|scripts|worker|data|bench|examples|golden-schema|workflows-examples)\/[\w./-]*$/;

function expectPage(path: string, anchor: string | undefined, link: string): void {
	expect(existsSync(path), link).toBe(true);
	if (anchor !== undefined) expect([...anchorsOf(path)], link).toContain(anchor);
}

describe.each(pages)("%s", (page) => {
	it("a page links only to existing files", () => {
		for (const [link, inText, inTag] of proseOf(page).matchAll(/\]\(([^)\s]+)\)|\bsrc="([^"]+)"/g)) {
			const target = inText ?? inTag ?? "";
			if (/^(https?|mailto):/.test(target)) continue;
			const [file = "", anchor] = target.split("#");
			expectPage(file === "" ? page : normalize(join(dirname(page), file)), anchor, `${link} of ${page}`);
		}
	});

	it("a page names only files of the repository that exist", () => {
		for (const path of codeSpansOf(page))
			if (repositoryPath.test(path)) expect(existsSync(path), `${path} of ${page}`).toBe(true);
	});
});

describe.each(pages.filter((page) => !page.endsWith("CHANGELOG.md")))("%s", (page) => {
	it("a page has no heading twice", () => {
		const headings = [
			...readFileSync(page, "utf8")
				.replace(/^```[\s\S]*?^```/gm, "")
				.matchAll(/^#{1,6} .+$/gm),
		].map(([heading]) => heading);
		expect(headings.filter((heading, index) => headings.indexOf(heading) !== index)).toEqual([]);
	});
});

const folders = ["src", "golden-schema", "workflows-examples", ".github"].flatMap((folder) =>
	readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
);
const speaking = [...folders, ...readSurfaces().map(({ path }) => path)].filter((path) =>
	/\.(ts|json|ya?ml)$/.test(path),
);
const namedPage = /(?<=[\s"`]|trtgate\/blob\/main\/)(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g;

it("messages, schemas, action files and workflows name only pages and headings of the documentation that exist", () => {
	let seen = 0;
	for (const path of speaking)
		for (const [link, page = "", anchor] of readFileSync(path, "utf8").matchAll(namedPage)) {
			expectPage(page, anchor, `${link} of ${path}`);
			seen++;
		}
	expect(seen).toBeGreaterThan(20);
});

const text = readFileSync("docs/ARCHITECTURE.md", "utf8");
const pathPattern =
	/`((?:src|core|formats|adapters|stages|app|ports|docs|test|scripts|worker|golden-schema|workflows-examples)\/[\w./-]*)`/g;
const rowsOf = (heading: string): string[] => {
	const [, section = ""] = text.split(`\n## ${heading}\n`);
	return (section.split("\n## ")[0] ?? "")
		.split("\n")
		.filter((line) => line.startsWith("| "))
		.slice(1);
};

it("docs/ARCHITECTURE.md names only files and folders that exist", () => {
	const named = [...text.matchAll(pathPattern)];
	expect(named.length).toBeGreaterThan(30);
	for (const [, path = ""] of named)
		expect(existsSync(path) || existsSync(join("src", path)), path).toBe(true);
});

it("docs/ARCHITECTURE.md explains at most 20 terms, one line each", () => {
	expect(rowsOf("Glossary").length).toBeGreaterThan(10);
	expect(rowsOf("Glossary").length).toBeLessThanOrEqual(20);
});

it("docs/ARCHITECTURE.md names one to five files for every change", () => {
	const rows = rowsOf("Where to change what");
	expect(rows.length).toBeGreaterThan(15);
	for (const row of rows) {
		const paths = [...row.matchAll(/`[\w./-]+\/[\w./-]*`|`action\.yml`/g)].length;
		expect(paths, row).toBeGreaterThan(0);
		expect(paths, row).toBeLessThanOrEqual(5);
	}
});

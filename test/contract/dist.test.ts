import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readPackages } from "../../scripts/licenses.ts";
import { temporaryFolder } from "../support/project.ts";

const entries = ["cli.js", "golden.js", "main.js", "plan.js", "post.js", "report.js"];
const chunks = readdirSync("dist/chunks");
const texts = ["dist", "dist/chunks", "dist/ort"].flatMap((folder) =>
	readdirSync(folder)
		.filter((name) => name.endsWith(".js"))
		.map((name) => ({ path: join(folder, name), text: readFileSync(join(folder, name), "utf8") })),
);

it("dist/ has the entry points on top, and folders", () => {
	const top = readdirSync("dist", { withFileTypes: true });
	expect(top.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual(
		["LICENSES.txt", "sbom.cdx.json", ...entries].sort(),
	);
	expect(top.filter((entry) => entry.isDirectory()).map(({ name }) => name)).toEqual([
		"chunks",
		"ort",
		"worker",
	]);
});

it("dist/ names each chunk by its content, and none by a number", () => {
	expect(chunks).toContain("app-gate.js");
	expect(chunks.filter((name) => !/^[a-z][\w.-]*[a-z]\.js$/i.test(name))).toEqual([]);
});

it("dist/ imports no entry point from a chunk, for it would run", () => {
	expect(
		texts
			.filter(({ text }) => new RegExp(`["'\`]\\.\\./(${entries.join("|")})["'\`]`).test(text))
			.map(({ path }) => path),
	).toEqual([]);
});

it("dist/ imports nothing but itself and Node's own modules: Node would find a package of the checkout that dist/ may lie in", () => {
	const imported = /\b(?:from|import|(?:import|require)\()(["'`])([a-z@][\w@./:-]*)\1/g;
	const names = texts.flatMap(({ text }) => [...text.matchAll(imported)].map(([, , name = ""]) => name));
	// Code that ajv would generate, in a text.
	const isOwn = (name: string): boolean => isBuiltin(name) || name.startsWith("ajv/dist/runtime/");
	expect(names.filter((name) => name.startsWith("node:")).length).toBeGreaterThan(10);
	expect([...new Set(names)].filter((name) => !isOwn(name))).toEqual([]);
});

it("dist/ has no source maps", () => {
	expect(texts.filter(({ text }) => text.includes("sourceMappingURL")).map(({ path }) => path)).toEqual([]);
});

it("dist/ brings the licence of every package that it is made of", () => {
	const licences = readFileSync("dist/LICENSES.txt", "utf8");
	for (const name of [
		"@actions/artifact",
		"@azure/storage-blob",
		"ajv",
		"jpeg-js",
		"onnxruntime-web",
		"undici",
		"yaml",
	])
		expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, "m"));
	// Every package has a text below it, longer than a mere name.
	for (const section of licences.split(/^={80}$/m).slice(1))
		expect(section.split("\n\n").slice(1).join("").length, section).toBeGreaterThan(80);
	expect(licences).not.toMatch(/\/home\/|\/tmp\/|node_modules\//);
});

it("dist/ names a licence for every package that it is made of, and its SBOM names the same packages with their hashes", () => {
	const licences = readFileSync("dist/LICENSES.txt", "utf8");
	const headings = licences
		.split(/^={80}$/m)
		.slice(1)
		.flatMap((section) => section.trim().split("\n\n")[0]?.split("\n") ?? []);
	for (const heading of headings) expect(heading).toMatch(/^\S+ \d+\.\d+\.\d+ \(.+\)$/);
	const { components } = JSON.parse(readFileSync("dist/sbom.cdx.json", "utf8"));
	const listed = components.map(
		({ name, version, licenses }: { name: string; version: string; licenses: { expression: string }[] }) =>
			`${name} ${version} (${licenses[0]?.expression})`,
	);
	expect(listed.sort()).toEqual(headings.sort());
	for (const { hashes, purl } of components) {
		expect(hashes).toEqual([{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
		expect(purl).toMatch(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d/);
	}
});

it("dist/ is not built from a package that names no licence", () => {
	const folder = temporaryFolder();
	writeFileSync(`${folder}/package.json`, JSON.stringify({ name: "buffers", version: "0.1.1" }));
	expect(() => readPackages([folder])).toThrow(
		"buffers 0.1.1 is bundled, and its package.json names no licence: replace the package.",
	);
});

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../support/project.ts";

const packed = temporaryFolder(afterAll);
const home = temporaryFolder(afterAll);

function inHome(program: "npm" | "npx", ...argv: string[]): string {
	const env = {
		PATH: process.env["PATH"],
		HOME: packed,
		npm_config_cache: join(packed, "cache"),
		npm_config_update_notifier: "false",
	};
	return execFileSync(program, argv, { cwd: home, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

describe("the npm package", () => {
	beforeAll(() => {
		writeFileSync(join(home, "package.json"), '{ "private": true }');
		const said = inHome(
			"npm",
			"pack",
			"--json",
			"--ignore-scripts",
			"--pack-destination",
			packed,
			resolve("."),
		);
		const [{ filename }] = JSON.parse(said);
		inHome("npm", "install", "--offline", "--no-audit", "--no-fund", join(packed, filename));
	});

	it("the npm package is one package, without dependencies and without files that only tests need", () => {
		const installed = join(home, "node_modules/trtgate");
		expect(readdirSync(join(home, "node_modules")).filter((name) => !name.startsWith("."))).toEqual([
			"trtgate",
		]);
		expect(readdirSync(installed).sort()).toEqual([
			"LICENSE",
			"README.md",
			"dist",
			"examples",
			"golden-schema",
			"package.json",
			"workflows-examples",
		]);
		expect(
			readdirSync(installed, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts")),
		).toEqual([]);
		const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
		for (const kind of ["dependencies", "optionalDependencies", "peerDependencies"])
			expect(manifest).not.toHaveProperty(kind);
	});

	it("the npm package runs by npx, and plays the recorded demo", () => {
		expect(inHome("npx", "--offline", "trtgate", "--help")).toMatch(/^trtgate \d+\.\d+\.\d+/);
		expect(inHome("npx", "--offline", "trtgate", "demo", "--recorded", "--quiet")).toMatch(/segmenter/);
		expect(existsSync(join(home, "trtgate-demo/report.html"))).toBe(true);
	});

	it("the npm package finds ONNX Runtime and its worker where they were installed", () => {
		const said = inHome(
			"npx",
			"--offline",
			"trtgate",
			"golden",
			"record",
			"node_modules/trtgate/examples/quickstart/base/models/classifier.onnx",
			...["--out", "golden", "--cases", "1", "--dims", "batch=1", "--time-limit", "10ms", "--quiet"],
		);
		expect(said).toMatch(/^Recorded golden/m);
	});
});

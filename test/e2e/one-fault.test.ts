// Three models, one of them with a fault: the others get their verdicts, and the fault is named with its fix.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Result } from "../../src/core/schema/result.ts";
import { readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";

const names = ["first", "second", "third"] as const;
const others = ["first", "third"];

const modelOf = (name: string) =>
	`  ${name}: { onnx: ${name}.onnx, dims: { batch: { min: 1, opt: 2, max: 4 } }, workloads: [], golden: ${name}/golden.json }\n`;
const config = (second = modelOf("second"), gates = "") =>
	`version: 1\nbackend: onnxruntime\nonnxruntime: wasm\nmodels:\n${modelOf("first")}${second}${modelOf("third")}${gates}`;

function writeModels(folder: string): string {
	const files = names.flatMap((name) => [
		[`${name}.onnx`, "fixture:model.onnx"],
		[name, "fixture:golden"],
	]);
	return writeProject(folder, { "trtgate.yml": config(), ...Object.fromEntries(files) });
}

async function run(spoil: (head: string) => void, more: { base: boolean } = { base: false }) {
	const cwd = temporaryFolder();
	writeModels(join(cwd, "base"));
	spoil(writeModels(join(cwd, "head")));
	const base = more.base ? ["--base", "base"] : [];
	const completed = await runCli(["run", ...base, "--head", "head", "--out", "out"], { cwd });
	return { ...completed, result: readResult(join(cwd, "out")), report: (name: string) => readFileSync(join(cwd, "out", name), "utf8") };
}

const write = (path: string, content: string | Uint8Array) => (head: string) => writeFileSync(join(head, path), content);
const remove = (path: string) => (head: string) => rmSync(join(head, path), { recursive: true });

/** Bytes of the fixture's model in which a name of one letter stands as another. */
function renamed(from: string, to: string): Uint8Array {
	const bytes = Uint8Array.from(readFileSync("test/fixtures/project/model.onnx"));
	const [old, now] = [from.charCodeAt(0), to.charCodeAt(0)];
	for (let at = 2; at < bytes.length; at += 1)
		if (bytes[at] === old && bytes[at - 1] === 1 && (bytes[at - 2] === 0x0a || bytes[at - 2] === 0x12)) bytes[at] = now;
	return bytes;
}

const matching = (result: Result) => result.golden.filter(({ state }) => state === "match").map(({ model }) => model);
const failing = (result: Result) => result.gates.filter(({ status }) => status === "fail");

it.each<[string, (head: string) => void, string, RegExp, RegExp]>([
	["no golden", remove("second/golden.json"), "1 unusable golden", /there is no golden|no golden manifest|golden\.json/i, /record/i],
	["a golden that is no JSON", write("second/golden.json", "{"), "1 unusable golden", /expected JSON/, /Restore the file/],
	[
		"a golden output of other bytes",
		write("second/y0.npy", readFileSync("test/fixtures/project/golden/y1.npy")),
		"1 unusable golden",
		/y0\.npy.*SHA-256/,
		/./,
	],
	[
		"a golden input of other bytes",
		write("second/x0.npy", readFileSync("test/fixtures/project/golden/x1.npy")),
		"1 unusable golden",
		/x0\.npy.*SHA-256/,
		/./,
	],
	["a golden input that is gone", remove("second/x1.npy"), "1 unusable golden", /x1\.npy/, /./],
	["a golden of another model", (head) => spoilNames(head), "1 unusable golden", /belongs to another model/, /record the golden again/],
	["no model", remove("second.onnx"), "1 unusable model", /second\.onnx/, /./],
	[
		"a model that is cut short",
		write("second.onnx", readFileSync("test/fixtures/project/model.onnx").subarray(0, 200)),
		"1 unusable model",
		/second\.onnx/,
		/./,
	],
	[
		"a prepare command that fails",
		write("trtgate.yml", config(modelOf("second").replace("onnx:", "prepare: exit 7, onnx:"))),
		"1 unusable model",
		/prepare command of second failed/,
		/Run it by hand/,
	],
])("checks the other models where one has %s", async (_, spoil, headline, says, fix) => {
	const { exit, stdout, stderr, result, report } = await run(spoil);
	expect(exit, stdout + stderr).toBe(1);
	expect(result).toMatchObject({ outcome: "fail", errors: [] });
	expect(result).not.toHaveProperty("partial");
	expect([...new Set(matching(result))]).toEqual(expect.arrayContaining(others));
	expect(failing(result)).toMatchObject([{ model: "second", message: expect.stringMatching(says) }]);
	const shown = stdout.replace(/\s+/g, " ");
	expect(shown).toContain(`: ${headline} · `);
	expect(shown).toMatch(/✗ second · fp32/);
	expect(shown).toMatch(fix);
	for (const name of ["report.md", "report.html", "junit.xml"]) expect(report(name), name).toMatch(says);
});

/** Its cases have an output that neither arm's model has. */
function spoilNames(head: string): void {
	const path = join(head, "second", "golden.json");
	writeFileSync(path, readFileSync(path, "utf8").replaceAll('"y": {', '"other": {'));
}

it.each<[string, Uint8Array, RegExp, Record<string, unknown>]>([
	[
		"output was renamed",
		renamed("y", "z"),
		/output y float32 \[batch, 4\] → z float32 \[batch, 4\]/,
		{ side: "output", base: { name: "y", dtype: "float32", shape: "[batch, 4]" }, head: { name: "z" } },
	],
	[
		"input was renamed",
		readFileSync("test/fixtures/project/other-input.onnx"),
		/input x float32 \[batch, 8\] → \w+ float32 \[batch, 8\]/,
		{ side: "input", base: { name: "x" } },
	],
])("fails a model whose %s, with a table of base and head, and checks the others", async (_, onnx, says, row) => {
	const { exit, stdout, stderr, result, report } = await run(write("second.onnx", onnx), { base: true });
	expect(exit, stdout + stderr).toBe(1);
	expect([...new Set(matching(result))]).toEqual(others);
	expect(result.interfaceChanges).toMatchObject([{ model: "second", rows: [row] }]);
	expect(failing(result)[0]).toMatchObject({ gate: "interface", model: "second", message: expect.stringMatching(says) });
	expect(new Set(failing(result).map(({ model }) => model))).toEqual(new Set(["second"]));
	expect(stdout.replace(/\s+/g, " ")).toContain("1 changed interface");
	expect(report("report.md")).toMatch(/1 changed interface, base → head/);
	expect(report("report.html")).toContain("1 changed interface, base → head");
});

it("is content with a changed interface where the config and the golden allow it", async () => {
	const spoil = (head: string): void => {
		writeFileSync(join(head, "second.onnx"), renamed("y", "z"));
		const golden = join(head, "second", "golden.json");
		writeFileSync(golden, readFileSync(golden, "utf8").replaceAll('"y": {', '"z": {'));
		writeFileSync(join(head, "trtgate.yml"), config(modelOf("second").replace(" }\n", ", gates: { interface: warn } }\n")));
	};
	const { exit, stdout, stderr, result } = await run(spoil, { base: true });
	expect(exit, stdout + stderr).toBe(0);
	expect(result.golden.map(({ state }) => state)).toEqual(Array(6).fill("match"));
	expect(result.gates.filter(({ status }) => status === "warn").map(({ gate }) => gate)).toEqual(
		expect.arrayContaining(["interface", "limit-change", "golden-change"]),
	);
});

it("ends as a configuration fault where no model is left", async () => {
	const { exit, stderr, result } = await run((head) => names.forEach((name) => void rmSync(join(head, `${name}.onnx`))));
	expect(exit).toBe(2);
	expect(result).toMatchObject({ outcome: "error", failureKind: "configuration" });
	for (const name of names) expect(stderr).toContain(`${name}.onnx`);
});

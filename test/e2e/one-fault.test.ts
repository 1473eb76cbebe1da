import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Result } from "../../generated/result.ts";
import { expectExit, gateFolders, temporaryFolder, writeProject } from "../support/project.ts";

const names = ["first", "second", "third"] as const;
const others = ["first", "third"];

const modelOf = (name: string) =>
	`  ${name}: { onnx: ${name}.onnx, dims: { batch: { min: 1, opt: 2, max: 4 } }, workloads: [], golden: ${name}/golden.json }\n`;
const config = (second = modelOf("second"), gates = "") =>
	`version: 1\nbackend: onnxruntime\nonnxruntime: wasm\nmodels:\n${modelOf("first")}${second}${modelOf("third")}${gates}`;

function writeModels(
	folder: string,
	{ models = names, config: text = config() }: Pick<More, "models" | "config"> = {},
): string {
	const files = models.flatMap((name) => [
		[`${name}.onnx`, "fixture:model.onnx"],
		[name, "fixture:golden"],
	]);
	return writeProject(folder, { "trtgate.yml": text, ...Object.fromEntries(files) });
}

interface More {
	base: boolean;
	models?: readonly string[];
	config?: string;
}

async function gate(spoil: (head: string) => void, more: More = { base: false }) {
	const cwd = temporaryFolder();
	writeModels(join(cwd, "base"), more);
	spoil(writeModels(join(cwd, "head"), more));
	return gateFolders(cwd, more.base ? {} : { sides: ["--head", "head"] });
}

const write = (path: string, content: string | Uint8Array) => (head: string) =>
	writeFileSync(join(head, path), content);
const remove = (path: string) => (head: string) => rmSync(join(head, path), { recursive: true });

/** Bytes of the fixture's model in which a name of one letter stands as another. */
function renamed(from: string, to: string): Uint8Array {
	const bytes = Uint8Array.from(readFileSync("test/fixtures/project/model.onnx"));
	const [old, now] = [from.charCodeAt(0), to.charCodeAt(0)];
	for (let at = 2; at < bytes.length; at += 1)
		if (bytes[at] === old && bytes[at - 1] === 1 && (bytes[at - 2] === 0x0a || bytes[at - 2] === 0x12))
			bytes[at] = now;
	return bytes;
}

const matching = (result: Result) =>
	result.golden.filter(({ state }) => state === "match").map(({ model }) => model);
const failing = (result: Result) => result.gates.filter(({ status }) => status === "fail");

/** By model: the fault in the head, the section that names it, the gate's message and the fix. */
type Faults = Readonly<Record<string, [(head: string) => void, RegExp, RegExp]>>;
const goldenFaults: Faults = {
	"no-golden": [
		remove("no-golden/golden.json"),
		/there is no golden|no golden manifest|golden\.json/i,
		/record/i,
	],
	"no-json": [write("no-json/golden.json", "{"), /expected JSON/, /Restore the file/],
	"other-output": [
		write("other-output/y0.npy", readFileSync("test/fixtures/project/golden/y1.npy")),
		/y0\.npy.*SHA-256/,
		/./,
	],
	"other-input": [
		write("other-input/x0.npy", readFileSync("test/fixtures/project/golden/x1.npy")),
		/x0\.npy.*SHA-256/,
		/./,
	],
	"no-input": [remove("no-input/x1.npy"), /x1\.npy/, /./],
	"other-golden": [
		(head) => renameOutput(head, "other-golden", "other"),
		/belongs to another model/,
		/record the golden again/,
	],
};
const modelFaults: Faults = {
	"no-model": [remove("no-model.onnx"), /no-model\.onnx/, /./],
	"cut-model": [
		write("cut-model.onnx", readFileSync("test/fixtures/project/model.onnx").subarray(0, 200)),
		/cut-model\.onnx/,
		/./,
	],
	"no-export": [() => {}, /prepare command of no-export failed/, /Run it by hand/],
};

it.each([
	["a fault in their golden", "6 unusable goldens", goldenFaults],
	["a fault in the file or its prepare command", "3 engines not built", modelFaults],
])(
	"the gate checks the healthy models if others have %s, and names each of those with its fix",
	async (_, headline, faults) => {
		const broken = Object.keys(faults);
		const all = ["first", ...broken, "third"];
		const sick = broken.map((name) =>
			name === "no-export" ? modelOf(name).replace("onnx:", "prepare: exit 7, onnx:") : modelOf(name),
		);
		const { run, result, report } = await gate(
			(head) => {
				for (const [spoil] of Object.values(faults)) spoil(head);
			},
			{ base: false, models: all, config: config(sick.join("")) },
		);
		expectExit(run, 1);
		expect(result).toMatchObject({ outcome: "fail", errors: [] });
		expect(result).not.toHaveProperty("partial");
		expect([...new Set(matching(result))]).toEqual(expect.arrayContaining(others));
		const shown = run.stdout.replace(/\s+/g, " ");
		expect(shown).toContain(`: ${headline} · `);
		expect(failing(result).map(({ model }) => model)).toEqual(expect.arrayContaining(broken));
		for (const [name, [, says, fix]] of Object.entries(faults)) {
			expect(failing(result).filter(({ model }) => model === name)).toMatchObject([
				{ message: expect.stringMatching(says) },
			]);
			expect(shown).toContain(`✗ ${name} · fp32`);
			expect(shown).toMatch(fix);
			for (const file of ["report.md", "report.html", "junit.xml"]) expect(report(file), file).toMatch(says);
		}
	},
);

function renameOutput(head: string, model: string, name: string): void {
	const path = join(head, model, "golden.json");
	writeFileSync(path, readFileSync(path, "utf8").replaceAll('"y": {', `"${name}": {`));
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
])(
	"the gate fails a model whose %s, with a table of base and head, and checks the others",
	async (_, onnx, says, row) => {
		const { run, result, report } = await gate(write("second.onnx", onnx), { base: true });
		expectExit(run, 1);
		expect([...new Set(matching(result))]).toEqual(others);
		expect(result.interfaceChanges).toMatchObject([{ model: "second", rows: [row] }]);
		expect(failing(result)[0]).toMatchObject({
			gate: "interface",
			model: "second",
			message: expect.stringMatching(says),
		});
		expect(new Set(failing(result).map(({ model }) => model))).toEqual(new Set(["second"]));
		expect(run.stdout.replace(/\s+/g, " ")).toContain("1 changed interface");
		expect(report("report.md")).toMatch(/1 changed interface, base → head/);
		expect(report("report.html")).toContain("1 changed interface, base → head");
	},
);

it("the gate is content with a changed interface if the base's rules allow it, and the head has its golden", async () => {
	const allowing = config(modelOf("second").replace(" }\n", ", gates: { interface: warn } }\n"));
	const spoil = (head: string): void => {
		writeFileSync(join(head, "second.onnx"), renamed("y", "z"));
		renameOutput(head, "second", "z");
	};
	const { run, result } = await gate(spoil, { base: true, config: allowing });
	expectExit(run, 0);
	expect(result.golden.map(({ state }) => state)).toEqual(Array(6).fill("match"));
	expect(result.gates.filter(({ status }) => status === "warn").map(({ gate }) => gate)).toEqual(
		expect.arrayContaining(["interface", "golden-change"]),
	);
});

it("the gate claims no lost check and lists looser rules if no model of the head can be read", async () => {
	const one = { base: true, models: ["first"], config: config("").replace(modelOf("third"), "") };
	const { run, result } = await gate((head) => {
		writeFileSync(join(head, "first.onnx"), "");
		writeFileSync(join(head, "trtgate.yml"), `${one.config}gates: { interface: off }\n`);
	}, one);
	expectExit(run, 2);
	expect(result).toMatchObject({ outcome: "error", partial: { stage: "prepare" } });
	expect(result.gates).toMatchObject([
		{ gate: "limit-change", message: expect.stringMatching(/gates\.interface: fail → off/) },
	]);
});

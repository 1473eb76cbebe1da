import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actionsPage, readSurfaces } from "../../scripts/actions-table.ts";
import { loadConfig } from "../../src/core/config/parse.ts";
import * as inputs from "../../src/host/adapters/github/inputs.ts";
import { reachableModules } from "../support/module-graph.ts";
import { quickConfig } from "../support/project.ts";

const behind: Readonly<Record<string, { readers: readonly string[]; entryPoint: string }>> = {
	"action.yml": { readers: ["readInputs", "readPublishInputs"], entryPoint: "src/main.ts" },
	"plan/action.yml": { readers: ["readPlanInputs"], entryPoint: "src/plan.ts" },
	"report/action.yml": { readers: ["readReportInputs"], entryPoint: "src/report.ts" },
	"golden/action.yml": { readers: ["readGoldenInputs"], entryPoint: "src/golden.ts" },
};

const surfaces = readSurfaces();
const javascript = surfaces.flatMap((surface) => {
	const code = behind[surface.path];
	return code === undefined ? [] : [{ ...surface, ...code }];
});

function readerNamed(name: string): () => unknown {
	const reader = (inputs as unknown as Record<string, (() => unknown) | undefined>)[name];
	if (reader === undefined) throw new Error(`src/host/adapters/github/inputs.ts has no ${name}`);
	return reader;
}

function watchReaders(
	names: readonly string[],
	given: Readonly<Record<string, string>>,
): { value: unknown[]; asked: string[] } {
	const asked = new Set<string>();
	const variables = Object.fromEntries(
		Object.entries(given).map(([key, value]) => [`INPUT_${key.toUpperCase()}`, value]),
	);
	const before = process.env;
	process.env = new Proxy(variables, {
		get(target, key) {
			if (typeof key === "string" && key.startsWith("INPUT_"))
				asked.add(key.slice("INPUT_".length).toLowerCase());
			return typeof key === "string" ? target[key] : undefined;
		},
	});
	try {
		return { value: names.map((name) => readerNamed(name)()), asked: [...asked].sort() };
	} finally {
		process.env = before;
	}
}

function defaultsOf(declared: (typeof surfaces)[number]["inputs"]): Record<string, string> {
	return Object.fromEntries(
		Object.entries(declared).map(([name, input]) => [name, String(input.default ?? "")]),
	);
}

function outputsSetBy(entryPoint: string): Set<string> {
	const texts = reachableModules(entryPoint).map((path) => readFileSync(path, "utf8"));
	return new Set(
		texts.flatMap((text) => [...text.matchAll(/setOutput\(\s*"([^"]+)"/g)].map((match) => match[1] ?? "")),
	);
}

describe.each(javascript)("$path", ({ path, inputs: declared, outputs, readers, entryPoint }) => {
	it("an action file declares exactly the inputs that the code reads", () => {
		expect(watchReaders(readers, defaultsOf(declared)).asked).toEqual(Object.keys(declared).sort());
	});

	it("an action has the code's own defaults", () => {
		// Expressions are the runner's to fill in; where a config lies, the gate knows itself.
		const literal = Object.entries(defaultsOf(declared)).filter(
			([name, value]) => !/\$\{\{/.test(value) && name !== "config",
		);
		expect(watchReaders(readers, Object.fromEntries(literal)).value).toEqual(watchReaders(readers, {}).value);
	});

	it("declares only outputs that the code sets, and all that it sets", () => {
		const set = outputsSetBy(entryPoint);
		for (const name of Object.keys(outputs)) expect(set, `${path} declares ${name}`).toContain(name);
		for (const name of set) expect(Object.keys(outputs), `${entryPoint} sets ${name}`).toContain(name);
	});

	it("an action starts a file that the build makes, and passes through nothing that is not there", () => {
		const main = /^\s*main: (?:\.\.\/)?dist\/(.+)\.js$/m.exec(readFileSync(path, "utf8"))?.[1];
		expect(existsSync(`src/${main}.ts`)).toBe(true);
	});
});

it("the root action hands over only settings that the config knows", () => {
	const given = { backend: "onnxruntime", device: "0", onnxruntime: "wasm", inconclusive: "fail" };
	const [value] = watchReaders(["readInputs"], given).value;
	const { overrides } = value as ReturnType<typeof inputs.readInputs>;
	expect(Object.keys(overrides).length).toBeGreaterThanOrEqual(4);
	const loaded = loadConfig(quickConfig, { path: "trtgate.yml", inputs: { ...overrides } });
	expect(loaded.state === "ok" ? [] : loaded.errors).toEqual([]);
});

it("docs/actions.md matches the action files", () => {
	const [page, text] = actionsPage();
	expect(readFileSync(page, "utf8")).toBe(text);
});

it("docs/actions.md lists every action, and describes every input and output", () => {
	for (const { uses, inputs: declared, outputs } of surfaces) {
		expect(actionsPage()[1]).toContain(`## \`${uses}\``);
		for (const [name, { description }] of [...Object.entries(declared), ...Object.entries(outputs)])
			expect(description ?? "", `${uses}: ${name}`).toMatch(/\w{3}/);
	}
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { loadConfig } from "../../../src/core/config/parse.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { loaded, refused, withModel } from "./load.ts";

const megabyte = 1_000_000;

function fill(unit: string) {
	return unit.repeat(Math.floor(megabyte / unit.length));
}

const start = "version: 1\nmodels:\n";
const many = (count: number, line: (index: number) => string) =>
	Array.from({ length: count }, (_, index) => line(index)).join("");

const aliases = (count: number, times: number) =>
	many(count, (index) => {
		const before = index === 0 ? "x" : many(times, () => `*a${index - 1}, `);
		return `a${index}: &a${index} [${before}]\n`;
	});

const hostile: Record<string, string> = {
	"open brackets": fill("["),
	"closed brackets": fill("[").slice(megabyte / 2) + fill("]").slice(megabyte / 2),
	"open mappings": fill("{a: "),
	"nested lists": fill("- "),
	"nested keys": fill("? "),
	"many keys": many(100_000, (index) => `k${index}: 1\n`),
	"many models": start + many(15_000, (index) => `  m${index}: { onnx: x }\n`),
	"many mistakes": start + many(2500, (index) => `  m${index}: { onnxx: x, b: [1] }\n`),
	"one long line": fill("a"),
	"one long text": `"${fill("\\n").slice(2)}"`,
	"line breaks": fill("\n"),
	comments: fill("#\n"),
	anchors: fill("&a "),
	tags: fill("!a "),
	documents: fill("---\n"),
	"stray brackets": fill("]"),
	"stray pairs": fill("a: }\n"),
	"too long": fill("a") + fill("b"),
	"a long number": `a: ${fill("1").slice(10)}e`,
	"a long share": `${start}  a: { onnx: x }\ngates: { latency: { warn: "${fill("1").slice(200)}%" } }`,
	"an alias bomb": aliases(12, 10),
	"a chain of aliases": aliases(60, 1),
	"an endless alias": "a: &a [*a]",
	"dimensions times workloads": `${start}  m:\n    onnx: x\n    dims: { ${many(4000, (index) => `d${index}: 1, `)} }\n    workloads: [${many(1500, (index) => `{ d${index}: 1 }, `)}]`,
	"engines times workloads": `${start}  m:\n    onnx: x\n    dims: { b: 1 }\n    engines:\n${many(1500, (index) => `      e${index}: { precision: fp16 }\n`)}    workloads: [${many(1500, () => "{ b: 1 }, ")}]`,
	"names that are nearly known": `${start}  m:\n    onnx: x\n    dims: { ${many(190, (index) => `${"abcdef".repeat(6)}${index}: 1, `)} }\n    workloads: [${many(1500, (index) => `{ ${"abcdeg".repeat(6)}${index}: 1 }, `)}]`,
	"NUL characters": "version: 1\0",
	"an old YAML": "%YAML 1.1\n---\na: yes\n",
};

it.each(Object.entries(hostile))("refused in less than a second: %s", (_, text) => {
	const startMs = cpuMs();
	const errors = refused(text);
	// Twice the second that is promised, for shared machines.
	expect(cpuMs() - startMs).toBeLessThan(2000);
	expect(errors.length).toBeLessThanOrEqual(51);
	for (const error of errors) {
		expect(error).toBeInstanceOf(ConfigError);
		expect(error.message.length).toBeLessThan(4000);
		expect(error.fix).toBeTruthy();
	}
});

it("two models whose names were made to share a folder are refused", () => {
	const twin = "classifier鰄叞钨牍噷抯硿蹍";
	const [error] = refused(`${start}  classifier: { onnx: slow }\n  ${twin}: { onnx: fast }\n`);
	expect(error?.message).toContain(`${twin}.engines.fp32 has the folder classifier-fp32-0eqxw8bcqficy of`);
});

it("any JSON gives errors and never a crash", () => {
	fc.assert(
		fc.property(fc.json({ maxDepth: 5 }), (text) => {
			expect(loadConfig(text, { path: "f" }).state).toBe("invalid");
		}),
	);
});

it("any text gives errors and never a crash", () => {
	const signs = fc.string({
		unit: fc.constantFrom(..."ab: -?[]{},&*!|>'\"%@#\n\t \r".split("")),
		maxLength: 60,
	});
	fc.assert(
		fc.property(fc.oneof(signs, fc.string({ unit: "binary" })), (text) => {
			expect(["ok", "invalid"]).toContain(loadConfig(text, { path: "f" }).state);
		}),
		{ numRuns: 400 },
	);
});

it("garbage in the place of any value gives errors at places inside the file", () => {
	const dims = { b: { min: 1, opt: 2, max: 3 } };
	const m = { onnx: "a", dims, engines: { e: { precision: "fp16" } }, workloads: [{ b: 2 }] };
	const gates = { latency: { warn: "2%" } };
	const base = { version: 1, models: { m }, gates, measure: { pairs: [5] } };
	const ofModel = "m|m/onnx|m/dims/b|m/dims/b/opt|m/engines/e|m/workloads/0|m/workloads/0/b".split("|");
	const others = ["version", "models", "gates/latency", "gates/latency/warn", "measure/pairs"];
	const paths = [...ofModel.map((path) => `models/${path}`), ...others].map((path) => path.split("/"));
	fc.assert(
		fc.property(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 3 }), (path, garbage) => {
			const text = JSON.stringify(withValue(base, path, garbage), null, 1);
			const result = loadConfig(text, { path: "f" });
			if (result.state === "ok") return;
			for (const error of result.errors) {
				expect(error.location?.line ?? 1).toBeLessThanOrEqual(text.split("\n").length);
				expect(error.message).not.toMatch(/something else|undefined|\[object/);
			}
		}),
		{ numRuns: 200 },
	);
});

function withValue(holder: unknown, [key, ...rest]: string[], value: unknown) {
	if (key === undefined) return value;
	const copy = (Array.isArray(holder) ? [...holder] : { ...(holder as object) }) as Record<string, unknown>;
	copy[key] = withValue(copy[key], rest, value);
	return copy;
}

it.each(["__proto__", "constructor", "toString", "hasOwnProperty", "prototype", "valueOf"])(
	"%s is a name like any other",
	(name) => {
		const { models } = loaded(
			`version: 1\nmodels: { ${name}: { onnx: a, dims: { ${name}: 4 }, inputs: { ${name}: { shape: [${name}] } }, engines: { ${name}: { precision: fp16 } }, workloads: [{ ${name}: 4 }] } }`,
		);
		const [model] = models;
		const [engine] = model?.engines ?? [];
		expect([models.length, model?.name, model?.engines.length, engine?.name]).toEqual([1, name, 1, name]);
		expect(Object.entries(engine?.dims ?? {})).toEqual([[name, { min: 4, opt: 4, max: 4 }]]);
		expect(Object.entries(engine?.workloads[0]?.dims ?? {})).toEqual([[name, 4]]);
		expect(Object.keys(model?.inputs ?? {})).toEqual([name]);
		expect(({} as Record<string, unknown>)["min"]).toBeUndefined();
	},
);

it.each(["__proto__", "constructor", "toString"])("%s in the place of a key is an unknown key", (name) => {
	const errors = refused(withModel("", `${name}: 3\ngates: { ${name}: { warn: 2% } }`));
	expect(errors.map(({ pointer }) => pointer)).toEqual([`/${name}`, `/gates/${name}`]);
});

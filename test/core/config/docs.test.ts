import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parseDocument } from "yaml";
import schema from "../../../golden-schema/config.schema.json" with { type: "json" };
import goldenSchema from "../../../golden-schema/golden.schema.json" with { type: "json" };
import {
	defaultGates,
	defaultMeasure,
	defaultProbes,
	defaultSettings,
} from "../../../src/core/config/config.ts";
import { gateEntries, type Threshold } from "../../../src/core/config/gate-records.ts";
import { loadConfig, measureKeys } from "../../../src/core/config/parse.ts";
import { blocksOf, codeSpansOf, pages } from "../../support/pages.ts";

const page = readFileSync("docs/configuration.md", "utf8");

function keysOf(node: unknown): string[] {
	if (typeof node !== "object" || node === null) return [];
	const properties = "properties" in node ? Object.keys(node.properties as object) : [];
	return [...properties, ...Object.values(node).flatMap(keysOf)];
}

function documented(key: string, text = page, column = 2) {
	const row = text.split("\n").find((line) => line.startsWith(`| \`${key}\` |`));
	return row?.split("|")[column]?.trim();
}

function titlesOf(node: unknown): string[] {
	if (typeof node !== "object" || node === null) return [];
	const own = "title" in node && typeof node.title === "string" ? [node.title] : [];
	return [...own, ...Object.values(node).flatMap(titlesOf)];
}

it("an editor shows titles in plain words, not the names of types", () => {
	const titles = [schema, goldenSchema].flatMap(titlesOf);
	expect(titles.length).toBeGreaterThan(60);
	expect(titles.filter((title) => /[a-z][A-Z]/.test(title.replaceAll("TensorRT", "")))).toEqual([]);
});

it("docs/configuration.md names every key", () => {
	const unknown = [...new Set(keysOf(schema))].filter((key) => !new RegExp(`\\b${key}\\b`).test(page));
	expect(unknown).toEqual([]);
});

const measureText = page.slice(page.indexOf("\n## measure\n"));
const gatesText = page.slice(page.indexOf("\n## gates\n"));

it.each(gateEntries.map(([, gate]) => gate))(
	"docs/configuration.md reports the default of the gate $name",
	({ name, kind, byDefault }) => {
		if (kind === "shares" || kind === "factors") {
			for (const [level, column] of [
				["warn", 2],
				["fail", 3],
			] as const) {
				const value = (byDefault as Threshold)[level];
				const limit = kind === "factors" ? value : value === undefined ? "off" : `${value * 100}%`;
				expect(documented(name, gatesText, column)).toBe(`\`${limit}\``);
			}
		} else
			expect(documented(name, gatesText)).toMatch(
				typeof byDefault === "string"
					? new RegExp(`^\`${byDefault}\`(;|$)`)
					: typeof byDefault === "number"
						? `\`${byDefault / 2 ** 20}MiB\``
						: /^(none|by precision)$/,
			);
	},
);

it("docs/configuration.md reports the other defaults", () => {
	const seconds = (ms: number) => (ms >= 60_000 ? `\`${ms / 60_000}m\`` : `\`${ms / 1000}s\``);
	const code = (value: unknown) => `\`${String(value)}\``;
	const { profile, preflight, baseline } = defaultSettings;
	const settings = { ...profile, strict: preflight.strict, from: baseline.from, when: defaultProbes.when };
	const measured = Object.entries(measureKeys).map(([key, of]) => [key, defaultMeasure[of], of] as const);
	const others = Object.entries(settings).map(([key, value]) => [key, value, ""] as const);
	for (const [key, value, name] of [...measured, ...others]) {
		if (value === undefined) continue;
		const text = name.endsWith("Ms")
			? seconds(value as number)
			: code(
					Array.isArray(value)
						? `[${value.join(", ")}]`
						: typeof value === "object" && "when" in value
							? value.when
							: value,
				);
		expect([key, documented(key, name === "" ? undefined : measureText)]).toEqual([key, text]);
	}
});

it("docs/configuration.md reports the default tolerances", () => {
	const lines = page.split("\n");
	const heading = lines.findIndex((line) => line.startsWith("| fp32 | tf32 |"));
	const cells = (line: string | undefined) =>
		(line ?? "")
			.split("|")
			.slice(1, -1)
			.map((cell) => cell.trim());
	const names = cells(lines[heading]);
	const values = cells(lines[heading + 2]).map(Number);
	expect(Object.fromEntries(names.map((name, index) => [name, values[index]]))).toEqual(
		defaultGates.relativeL2,
	);
});

type Part = Readonly<Record<string, unknown>>;

const dims = {
	batch: { min: 1, opt: 8, max: 32 },
	seq: { min: 1, opt: 32, max: 512 },
	past: { min: 0, opt: 1, max: 1024 },
};
const net = { onnx: "net.onnx", dims, golden: "golden.json" };
const engines = { fp16: { precision: "fp16" } };

/** A whole config around a part of one, by the keys of the level that the part is from. */
const { properties, $defs } = schema;
const levels: readonly (readonly [object, (part: Part) => Part])[] = [
	[properties, (part) => part],
	[$defs.model.properties, (part) => ({ models: { net: { ...net, ...part } } })],
	[
		$defs.engine.properties,
		(part) => ({ models: { net: { ...net, engines: { ...engines, it: { precision: "int8", ...part } } } } }),
	],
	[{ ...$defs.workload.properties, ...dims }, (part) => ({ models: { net: { ...net, workloads: [part] } } })],
	[$defs.gates.properties, (gates) => ({ gates })],
	[$defs.measure.properties, (measure) => ({ measure })],
	[{ llm: {} }, (models) => ({ models })],
];

/** The errors at the level with the fewest; undefined where the text is no part of a config. */
function errorsOf(text: string): string[] | undefined {
	const document = parseDocument(text);
	const part: unknown = document.errors.length === 0 ? document.toJS() : null;
	if (typeof part !== "object" || part === null || Array.isArray(part)) return undefined;
	const found = levels
		.filter(([keys]) => Object.keys(part).every((key) => key in keys))
		.map(([, around]) => {
			const config = { version: 1, models: { net, detector: net, classifier: net }, ...around(part as Part) };
			const loaded = loadConfig(JSON.stringify(config), { path: "trtgate.yml" });
			return loaded.state === "ok" ? [] : loaded.errors.map(({ message }) => message);
		});
	return found.sort((one, other) => one.length - other.length)[0];
}

const written = (textsOf: (path: string) => string[]) =>
	pages.flatMap((path) => textsOf(path).map((text) => ({ path, text, errors: errorsOf(text) })));

it("every YAML block that is no workflow is a part of a config that loads", () => {
	const blocks = written((path) => blocksOf(path, "yaml").filter((block) => !/^ *- (if|uses):/m.test(block)));
	expect(blocks.filter(({ errors }) => errors === undefined || errors.length > 0)).toEqual([]);
	expect(blocks.length).toBeGreaterThan(15);
});

it("what pages write of a config within a line loads", () => {
	// Without placeholders: `base: { trtexec }`.
	const spans = written((path) =>
		codeSpansOf(path).filter(
			(span) => /^\{? ?[a-z][a-z0-9-]*: \S/.test(span) && !/…|[{,] ?\w+ ?[,}]/.test(span),
		),
	);
	expect(spans.filter(({ errors = [] }) => errors.length > 0)).toEqual([]);
	expect(spans.filter(({ errors }) => errors !== undefined).length).toBeGreaterThan(50);
});

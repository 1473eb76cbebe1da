import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import schema from "../../../golden-schema/config.schema.json" with { type: "json" };
import goldenSchema from "../../../golden-schema/golden.schema.json" with { type: "json" };
import {
	defaultGates,
	defaultMeasure,
	defaultProbes,
	defaultSettings,
} from "../../../src/core/config/defaults.ts";
import { gateEntries, type Threshold } from "../../../src/core/config/gate-records.ts";
import { loadConfig, measureKeys } from "../../../src/core/config/parse.ts";

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

it("docs/configuration.md begins with a config that loads", () => {
	const [, text] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
	expect(loadConfig(text ?? "", { path: "trtgate.yml" }).state).toBe("ok");
});

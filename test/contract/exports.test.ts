import { readFileSync } from "node:fs";
import { join } from "node:path";
import sarifSchema from "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json" with { type: "json" };
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import type { Result } from "../../generated/result.ts";
import { fileStore } from "../../src/adapters/files/store.ts";
import { configCodes } from "../../src/core/errors.ts";
import {
	helpUri,
	renderCodeQuality,
	renderJunit,
	renderSarif,
} from "../../src/core/report/exports/checks.ts";
import { renderBencher, renderBenchmark, renderMetrics } from "../../src/core/report/exports/figures.ts";
import { reportFiles, writeReport } from "../../src/stages/report.ts";
import { buildResult } from "../support/build-result.ts";
import { temporaryFolder } from "../support/project.ts";
import { readMarkup } from "../support/read-markup.ts";
import { resultCases } from "../support/result-cases.ts";

const cases: readonly (readonly [string, Result])[] = Object.entries(resultCases);

/** The schema is draft 4; only its head differs from draft 7 in ways that matter (`id`, exclusive bounds). */
function sarifValidator() {
	const { id: _id, $schema: _schema, ...schema } = sarifSchema;
	return new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(schema);
}

/** https://bencher.dev/docs/reference/bencher-metric-format */
const bencherSchema = {
	type: "object",
	patternProperties: {
		".+": {
			type: "object",
			patternProperties: {
				".+": {
					type: "object",
					properties: {
						value: { type: "number" },
						lower_value: { type: "number" },
						upper_value: { type: "number" },
					},
					required: ["value"],
				},
			},
		},
	},
};

/** As the README of github-action-benchmark says. */
const benchmarkSchema = {
	type: "array",
	items: {
		type: "object",
		additionalProperties: false,
		required: ["name", "unit", "value"],
		properties: {
			name: { type: "string", minLength: 1 },
			unit: { type: "string", minLength: 1 },
			value: { type: "number" },
			range: { type: "string" },
			extra: { type: "string" },
		},
	},
};

/**
 * junit-10.xsd, by which Jenkins' xUnit plugin refuses a whole file: `needs` are demanded, `may` allowed. A case has no `file`,
 * the outer element no `skipped`; times have at most three digits between commas or before the point.
 */
const junitElements: Readonly<
	Record<string, { within: readonly string[]; needs: readonly string[]; may: readonly string[] }>
> = {
	testsuites: { within: [""], needs: [], may: ["name", "time", "tests", "failures", "errors"] },
	testsuite: {
		within: ["testsuites", "testsuite"],
		needs: ["name", "tests", "failures", "errors"],
		may: ["group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"],
	},
	testcase: { within: ["testsuite"], needs: ["name"], may: ["time", "classname", "group"] },
	failure: { within: ["testcase"], needs: [], may: ["type", "message"] },
	error: { within: ["testcase"], needs: [], may: ["type", "message"] },
	skipped: { within: ["testcase"], needs: [], may: ["type", "message"] },
	"system-out": { within: ["testcase", "testsuite"], needs: [], may: [] },
};
/** Its SUREFIRE_TIME. */
const junitTime = /^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$/;
/** What readers beyond that schema go by: GitHub's reporters and GitLab name a case by both, and show the message. */
const junitWanted: Readonly<Record<string, readonly string[]>> = {
	testcase: ["classname", "name"],
	failure: ["message", "type"],
	error: ["message", "type"],
	skipped: ["message"],
};

describe("SARIF", () => {
	const validate = sarifValidator();

	it.each(cases)("SARIF of %s fits the schema of 2.1.0", (_, result) => {
		validate(JSON.parse(renderSarif(result)));
		expect(validate.errors).toBeNull();
	});

	it.each(cases)("SARIF of %s gives code scanning a place and a known rule for each result", (_, result) => {
		const [run] = JSON.parse(renderSarif(result)).runs;
		for (const found of run.results) {
			expect(run.tool.driver.rules[found.ruleIndex].id).toBe(found.ruleId);
			const { uri } = found.locations[0].physicalLocation.artifactLocation;
			expect(uri).toMatch(/^(?:[\w.!~*'()/-]|%[0-9A-F]{2}|file:\/\/)+$/);
		}
	});

	it("SARIF would have been refused with a level that SARIF does not know", () => {
		const log = JSON.parse(renderSarif(resultCases["errors"] ?? buildResult()));
		log.runs[0].results = [{ message: { text: "x" }, level: "fatal" }];
		expect(validate(log)).toBe(false);
	});

	it("SARIF leads to a heading for every code of a config fault", () => {
		for (const code of configCodes) {
			const [, page, anchor] = /docs\/(.+)#(.+)$/.exec(helpUri(code, "errors")) ?? [];
			expect(readFileSync(`docs/${page}`, "utf8")).toContain(`### \`${anchor}\``);
		}
	});
});

describe("Bencher Metric Format", () => {
	const validate = new Ajv().compile(bencherSchema);

	it.each(cases)(
		"Bencher Metric Format of %s fits Bencher's schema, with the value between its ends",
		(_, result) => {
			const metrics: Record<
				string,
				Record<string, { value: number; lower_value?: number; upper_value?: number }>
			> = JSON.parse(renderBencher(result));
			validate(metrics);
			expect(validate.errors).toBeNull();
			for (const [name, measures] of Object.entries(metrics)) {
				expect(name.length).toBeLessThanOrEqual(1024);
				for (const [slug, metric] of Object.entries(measures)) {
					expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
					expect(metric.lower_value ?? metric.value).toBeLessThanOrEqual(metric.upper_value ?? metric.value);
				}
			}
		},
	);
});

describe("customSmallerIsBetter", () => {
	const validate = new Ajv().compile(benchmarkSchema);

	it.each(cases)(
		"customSmallerIsBetter of %s is what github-action-benchmark reads, each name once",
		(_, result) => {
			const entries: { name: string }[] = JSON.parse(renderBenchmark(result));
			validate(entries);
			expect(validate.errors).toBeNull();
			expect(new Set(entries.map(({ name }) => name)).size).toBe(entries.length);
		},
	);
});

it.each(cases)(
	"JUnit XML of %s has only what Jenkins' schema allows and what other readers want, and counts that add up",
	(_, result) => {
		const elements = readMarkup(renderJunit(result).replace(/^<\?xml[^>]*\?>\n/, ""), "xml");
		for (const { name, attributes, path } of elements) {
			const rule = junitElements[name];
			if (rule === undefined) throw new Error(`element ${name}`);
			const names = [...attributes.keys()];
			expect(rule.within).toContain(path.at(-1) ?? "");
			expect(names).toEqual(expect.arrayContaining([...rule.needs, ...(junitWanted[name] ?? [])]));
			expect([...rule.needs, ...rule.may]).toEqual(expect.arrayContaining(names));
			expect(attributes.get("time") ?? "").toMatch(junitTime);
		}
		const suite = elements.find(({ name }) => name === "testsuite")?.attributes ?? new Map();
		const count = (tag: string): string => String(elements.filter(({ name }) => name === tag).length);
		expect(Object.fromEntries(suite)).toMatchObject({
			tests: count("testcase"),
			failures: count("failure"),
			errors: count("error"),
			skipped: count("skipped"),
		});
	},
);

it.each(cases)("Code Quality of %s has what GitLab demands, each fingerprint once", (_, result) => {
	const found: Record<string, unknown>[] = JSON.parse(renderCodeQuality(result));
	for (const one of found)
		expect(one).toEqual({
			...{ check_name: expect.any(String), description: expect.any(String), fingerprint: expect.any(String) },
			severity: expect.stringMatching(/^(info|minor|major)$/),
			location: { path: expect.stringMatching(/./), lines: { begin: expect.any(Number) } },
		});
	expect(new Set(found.map(({ fingerprint }) => fingerprint)).size).toBe(found.length);
});

it.each(cases)("metrics of %s are OpenMetrics text", (_, result) => {
	const lines = renderMetrics(result).split("\n");
	expect(lines.splice(-2)).toEqual(["# EOF", ""]);
	for (const line of lines)
		expect(line).toMatch(/^(# TYPE \w+ gauge|trtgate_\w+\{engine="([^"\\\n]|\\.)*"\} -?[\d.e+-]+)$/);
});

it("the folder of a run holds every export after one write", async () => {
	const folder = temporaryFolder();
	await writeReport(buildResult(), folder, fileStore());
	for (const name of Object.values(reportFiles))
		expect(readFileSync(join(folder, name), "utf8").length).toBeGreaterThan(0);
});

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { ZooModel } from "../../bench/zoo/fetch.ts";
import { zooPage } from "../../bench/zoo/page.ts";
import type { ZooResult } from "../../bench/zoo/trial.ts";
import { loadConfig } from "../../src/core/config/parse.ts";

const page = readFileSync("bench/models.md", "utf8");
const { models }: { models: ZooModel[] } = JSON.parse(readFileSync("bench/zoo/models.json", "utf8"));
const { results }: { results: ZooResult[] } = JSON.parse(readFileSync("bench/zoo/results.json", "utf8"));
const examples = [
	...page.slice(page.indexOf("<!-- configs:")).matchAll(/^### (.+)\n[\s\S]*?```yaml\n([\s\S]*?)```/gm),
].map(([, heading = "", text = ""]) => ({
	heading,
	text,
}));

it("bench/models.md shows a config for each example of the zoo", () => {
	const tried = new Set(results.map(({ model }) => model));
	const wanted = models.flatMap(({ name, example }) =>
		example === undefined || !tried.has(name) ? [] : [`${example.heading}: ${name}`],
	);
	expect(examples.map(({ heading }) => heading)).toEqual(wanted);
	expect(wanted.length).toBeGreaterThanOrEqual(6);
});

it.each(examples)("bench/models.md $heading: loads, with a golden for its model", ({ text }) => {
	const loaded = loadConfig(text, { path: "trtgate.yml" });
	if (loaded.state !== "ok") expect.fail(JSON.stringify(loaded));
	expect(loaded.config.models.flatMap(({ engines }) => engines.map(({ golden }) => golden))).not.toContain(
		undefined,
	);
});

it("bench/models.md is generated from the bench's results", () => {
	expect(zooPage(page, models, new Map(results.map((result) => [result.model, result])))).toBe(page);
});

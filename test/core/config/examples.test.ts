import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { loadConfig } from "../../../src/core/config/parse.ts";
import type { ConfigError } from "../../../src/core/errors.ts";

const folder = "golden-schema/examples/config";

const names = (kind: string) =>
	readdirSync(`${folder}/${kind}`).flatMap((name) => /^(.*)\.yml$/.exec(name)?.[1] ?? []);

function load(kind: string, name: string) {
	return loadConfig(readFileSync(`${folder}/${kind}/${name}.yml`, "utf8"), { path: "trtgate.yml" });
}

function render(errors: readonly ConfigError[]) {
	return errors.map((error) => `${error.code}\n  ${error.message}\n  fix: ${error.fix}\n`).join("");
}

it.each(names("valid"))("the config reader loads %s.yml", (name) => {
	const result = load("valid", name);
	expect(result.state === "ok" ? "" : render(result.errors)).toBe("");
});

it.each(names("invalid"))("the config reader refuses %s.yml in the words of its .txt", async (name) => {
	const result = load("invalid", name);
	expect(result.state).toBe("invalid");
	if (result.state === "invalid")
		await expect(render(result.errors)).toMatchFileSnapshot(`../../../${folder}/invalid/${name}.txt`);
});

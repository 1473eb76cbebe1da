// Public models through the whole product: init, a golden of real inputs, right and defective answers judged by it, and the gate.
// node bench/zoo.ts [--only NAME,…] [--fresh] [--prepare] [--no-run] [--write] [--archives DIR] [--cache DIR] [--dist DIR] [--record "OPTIONS"]   (PYTHON names the interpreter)
// --prepare only fetches and makes inputs and native answers; --no-run leaves out `trtgate run`.
// What this build of dist/ has done already is not done again, unless --fresh; --write puts the table into bench/models.md.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { ZooModel } from "./zoo/fetch.ts";
import { zooPage } from "./zoo/page.ts";
import { faults, zooTable } from "./zoo/table.ts";
import { prepareModel, productDigest, type Setting, tryModel, type ZooResult } from "./zoo/trial.ts";

const here = import.meta.dirname;
const { values } = parseArgs({
	options: {
		only: { type: "string" },
		fresh: { type: "boolean", default: false },
		write: { type: "boolean", default: false },
		prepare: { type: "boolean", default: false },
		"no-run": { type: "boolean", default: false },
		archives: { type: "string" },
		dist: { type: "string", default: join(here, "../dist") },
		cache: { type: "string", default: join(homedir(), ".cache", "trtgate-zoo") },
		record: { type: "string", default: "" },
	},
});

function readResults(path: string): Map<string, ZooResult> {
	if (!existsSync(path)) return new Map();
	const { results }: { results: ZooResult[] } = JSON.parse(readFileSync(path, "utf8"));
	return new Map(results.map((result) => [result.model, result]));
}

/** A model that stops the bench itself is a result too. */
function tryOrExplain(model: ZooModel, setting: Setting): ZooResult {
	try {
		return tryModel(model, setting);
	} catch (error) {
		const steps = {
			bench: { exit: null, seconds: 0, said: error instanceof Error ? error.message : String(error) },
		};
		return { model: model.name, product: setting.product, steps };
	}
}

const { models }: { models: ZooModel[] } = JSON.parse(readFileSync(join(here, "zoo", "models.json"), "utf8"));
const chosen =
	values.only === undefined ? models : models.filter(({ name }) => values.only?.split(",").includes(name));
const cache = resolve(values.cache);
mkdirSync(cache, { recursive: true });
const resultsPath = join(cache, "results.json");
const results = readResults(resultsPath);
const setting: Setting = {
	python: process.env["PYTHON"] ?? "python3",
	cache,
	archives: values.archives === undefined ? null : resolve(values.archives),
	work: join(cache, "work"),
	dist: resolve(values.dist),
	product: productDigest(resolve(values.dist)),
	runsGate: !values["no-run"],
	recordOptions: values.record.split(" ").filter(Boolean),
};
for (const model of chosen) {
	if (!values.fresh && results.get(model.name)?.product === setting.product) continue;
	console.error(model.name);
	if (values.prepare) prepareModel(model, setting);
	if (values.prepare) continue;
	results.set(model.name, tryOrExplain(model, setting));
	writeFileSync(resultsPath, `${JSON.stringify({ results: [...results.values()] }, null, "\t")}\n`);
}
if (values.write) {
	const kept = models.flatMap(({ name, example }) => {
		const found = results.get(name);
		if (found === undefined) return [];
		const { says: _, config, ...result } = found;
		return [{ ...result, ...(example === undefined || config === undefined ? {} : { config }) }];
	});
	writeFileSync(join(here, "zoo", "results.json"), `${JSON.stringify({ results: kept }, null, "\t")}\n`);
	const page = join(here, "models.md");
	writeFileSync(page, zooPage(readFileSync(page, "utf8"), models, results));
}
console.log(zooTable(chosen, results));
console.log(
	`\n${chosen.flatMap(({ name }) => faults(results.get(name) ?? { model: name, product: "", steps: {} })).join("\n") || "No faults."}`,
);

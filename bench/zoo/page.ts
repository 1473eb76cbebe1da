// bench/models.md: the zoo's table and its configs, written between marks from what the bench measured.
import { isScalar, parseDocument, visit } from "yaml";
import type { ZooModel } from "./fetch.ts";
import { takenWith, zooTable } from "./table.ts";
import type { ZooResult } from "./trial.ts";

type Results = ReadonlyMap<string, ZooResult>;

/** What `init` wrote, without its comments: the model with its golden. */
function plainConfig(config: string): string {
	const document = parseDocument(config);
	visit(document, (_, node) => {
		if (node !== null && typeof node === "object" && "comment" in node)
			Object.assign(node, { comment: null, commentBefore: null });
		if (isScalar(node)) node.spaceBefore = false;
	});
	document.commentBefore = null;
	document.comment = null;
	for (const key of ["gates", "backend"]) document.delete(key);
	return document
		.toString({ lineWidth: 0 })
		.replace(/^(?:#.*\n)+/, "")
		.trim();
}

function exampleOf({ name, example, package: source }: ZooModel, results: Results): string[] {
	const config = results.get(name)?.config;
	if (example === undefined || config === undefined) return [];
	const yaml = plainConfig(config);
	const place = source.registry === "maven" ? "Maven Central" : source.registry === "npm" ? "npm" : "PyPI";
	return [
		`### ${example.heading}: ${name}`,
		`From ${source.name} ${source.version} (${place}). Inputs: ${example.inputs}.`,
		`\`\`\`yaml\n${yaml}\n\`\`\``,
	];
}

function between(page: string, mark: string, content: string): string {
	const [begin, end] = [`<!-- ${mark}: written by bench/zoo.ts -->`, `<!-- end of ${mark} -->`];
	const [from, to] = [page.indexOf(begin), page.indexOf(end)];
	if (from < 0 || to < from) throw new Error(`bench/models.md lacks the marks of ${mark}`);
	return `${page.slice(0, from + begin.length)}\n\n${content}\n\n${page.slice(to)}`;
}

export function zooPage(page: string, models: readonly ZooModel[], results: Results): string {
	const examples = models.flatMap((model) => exampleOf(model, results)).join("\n\n");
	const table = `${takenWith([...results.values()])}\n\n${zooTable(models, results)}`;
	return between(between(page, "table", table), "configs", examples);
}

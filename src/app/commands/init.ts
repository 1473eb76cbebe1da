// `trtgate init`: writes a trtgate.yml and a workflow for an ONNX file; never overwrites a file.
import { access } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileModelReader } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { starterConfig, starterWorkflow } from "../../core/config/init.ts";
import { ConfigError } from "../../core/errors.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { chooseInitSizes } from "./init-sizes.ts";
import { parseDims, parseShapes } from "./sizes.ts";
import { initTable } from "./tables.ts";

const configName = "trtgate.yml";
const workflowName = ".github/workflows/trtgate.yml";

export async function init(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, initTable);
	const path = resolve(terminal.cwd, args.positionals[0] ?? "");
	const model = await fileModelReader().read(path);
	const onnxPath = relative(terminal.cwd, path);
	if (onnxPath.startsWith("..")) {
		const fix = `Run \`trtgate init\` in a folder above ${path}.`;
		throw new ConfigError({ code: "path-outside-workspace", message: `${path} is not below ${terminal.cwd}.`, details: { fix } });
	}
	for (const name of [configName, workflowName]) await refuseToOverwrite(join(terminal.cwd, name), name);
	const name = basename(path).replace(/\.onnx$/i, "");
	const given = { dims: parseDims(args.texts("dims")), inputs: parseShapes(args.texts("shape")) };
	const { comments, ...known } = await chooseInitSizes(model, given, { ...terminal, quiet: args.flag("quiet") });
	const written = {
		[configName]: starterConfig(model.onnx, { name, onnxPath, known, comments }),
		[workflowName]: starterWorkflow({}),
	};
	const files = fileStore();
	for (const name of Object.keys(written)) await files.makeFolder(dirname(join(terminal.cwd, name)));
	for (const [name, text] of Object.entries(written)) {
		await files.writeText(join(terminal.cwd, name), text);
		terminal.echo(`wrote ${name}\n`);
	}
	terminal.echo(
		`Next: \`trtgate golden record --model ${quoteName(name, "")} --inputs FOLDER\` records what the engines must compute, from real inputs;\n\`trtgate run --dry-run\` shows the plan, \`trtgate run --base REF\` the difference from a git ref.\n`,
	);
	return exitCodes.ok;
}

async function refuseToOverwrite(path: string, name: string): Promise<void> {
	const exists = await access(path).then(
		() => true,
		() => false,
	);
	if (!exists) return;
	throw new ConfigError({
		code: "output-unwritable",
		message: `${name} is already there.`,
		details: { location: { path }, fix: "Move it away, or edit it by hand." },
	});
}

// `trtgate init`: writes trtgate.yml and a workflow.
import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileModelReader } from "../../adapters/files/model-reader.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { readInputText } from "../../adapters/process/input-file.ts";
import { pinCommand, starterConfig, starterWorkflow } from "../../core/config/init.ts";
import { ConfigError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { preflight } from "../../core/onnx/preflight.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { isCommit } from "../../host/formats/github/names.ts";
import { distFolder } from "../compose.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { version } from "../version.ts";
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
		throw new ConfigError({
			code: "path-outside-workspace",
			message: `${path} is not below ${terminal.cwd}.`,
			fix,
		});
	}
	for (const name of [configName, workflowName]) refuseToOverwrite(join(terminal.cwd, name), name);
	const name = basename(path).replace(/\.onnx$/i, "");
	const faults = preflight(model, { backend: "onnxruntime" }).filter(({ severity }) => severity === "error");
	const given = { dims: parseDims(args.texts("dims")), inputs: parseShapes(args.texts("shape")) };
	const { comments, ...known } = await chooseInitSizes(model, given, {
		...terminal,
		quiet: args.flag("quiet"),
	});
	const commit = await releasedCommit();
	const written = {
		[configName]: starterConfig(model.onnx, { name, onnxPath, known, comments }),
		[workflowName]: starterWorkflow({ version, commit }),
	};
	const files = fileStore();
	for (const name of Object.keys(written)) await files.makeFolder(dirname(join(terminal.cwd, name)));
	for (const [name, text] of Object.entries(written)) {
		await files.writeText(join(terminal.cwd, name), text);
		terminal.echo(`wrote ${name}\n`);
	}
	const fixes = faults
		.slice(0, mostFaults)
		.map(({ message, fix = "" }) => `Fix the model: ${message} ${fix}`.trimEnd());
	const steps = [...fixes, ...stepsLeft(commit, quoteName(name, ""))];
	terminal.echo(`Next steps:\n${steps.map((step, index) => `  ${index + 1}. ${step}\n`).join("")}`);
	return exitCodes.ok;
}

const mostFaults = 3;

function stepsLeft(commit: string | undefined, model: string): string[] {
	return [
		`Check the sizes in ${configName}; \`trtgate run --dry-run\` shows the plan.`,
		`Record a golden, the expected outputs, from real inputs: \`trtgate golden record --model ${model} --inputs FOLDER\`.`,
		...(commit === undefined
			? [`Pin trtgate in ${workflowName} to the commit that this prints: ${pinCommand(version)}`]
			: []),
		`For TensorRT, set \`runs-on\` in ${workflowName} to a GPU runner's labels; GitHub-hosted runners without a GPU use ONNX Runtime.`,
		"Commit the files and open a pull request; trtgate comments on it. The first one has no base to compare with; later ones do.",
	];
}

/** Unknown in a checkout. */
async function releasedCommit(): Promise<string | undefined> {
	try {
		const { gitHead } = JSON.parse(
			await readInputText(join(distFolder(), "..", "package.json"), inputKinds.argument),
		);
		return isCommit(gitHead) ? gitHead : undefined;
	} catch {
		return undefined;
	}
}

function refuseToOverwrite(path: string, name: string): void {
	if (!existsSync(path)) return;
	throw new ConfigError({
		code: "output-unwritable",
		message: `${name} already exists.`,
		location: { path },
		fix: "Move it, or edit it by hand.",
	});
}

// `trtgate golden check`: judges stored outputs against a golden.
import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { GoldenCase, GoldenManifest, Precision } from "../../../generated/golden.ts";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { childEnvironment } from "../../adapters/github/env.ts";
import { customCommands } from "../../adapters/process/custom-command.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { defaultGates } from "../../core/config/defaults.ts";
import { folderName } from "../../core/config/identity.ts";
import { usageError } from "../../core/errors.ts";
import { judgeCase, judgeUnanswered } from "../../core/golden/compare/judge.ts";
import { parseManifest } from "../../core/golden/manifest/parse-manifest.ts";
import { unfinishedNote } from "../../core/golden/record/defects/record.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { type SetWatch, watchSet } from "../../core/golden/whole-set/judge-set.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { jsonText } from "../../core/text/escape.ts";
import type { CustomCommands } from "../../ports/world.ts";
import { readTensors } from "../../stages/load-goldens.ts";
import { type AvailableCommands, runComparatorCommands } from "../../stages/run-comparator-commands.ts";
import { parseArguments, readArgument } from "../commands/arguments.ts";
import { checkTable } from "../commands/golden-tables.ts";
import { forUsers } from "../compose.ts";
import { readConfigFile } from "../config-file.ts";
import { exitCodes } from "../exit.ts";
import { stopOnSignals } from "../signals.ts";
import type { Terminal } from "../terminal.ts";
import { type CheckReport, renderCheck } from "./render-check.ts";
import { fileNamesOf, findCaseFile, findTensor, plainName, readStored, type StoredPorts } from "./stored.ts";

export async function checkGolden(argv: readonly string[], terminal: Terminal): Promise<number> {
	const byPolygraphy = argv.some(
		(argument) => argument === "--polygraphy" || argument.startsWith("--polygraphy="),
	);
	if (byPolygraphy) return (await import("./check-polygraphy.ts")).checkPolygraphy(argv, terminal);
	const args = parseArguments(argv, checkTable);
	const { path, text } = await readArgument(args.positionals[0] ?? "", terminal.cwd, inputKinds.golden);
	const manifest = parseManifest(text, path);
	const outputs = args.text("outputs");
	const folder = await outputFolder(resolve(terminal.cwd, outputs));
	const ports = { files: fileStore(), tensors: fileTensorReader() };
	const precision = args.text("precision") as Precision;
	const cases: GoldenVerdict[] = [];
	const home = dirname(resolve(terminal.cwd, path));
	const processes = createProcesses({ env: childEnvironment() });
	stopOnSignals(() => void processes.killAll());
	const commands = await commandsOf(args.text("config"), terminal.cwd, customCommands(forUsers(processes)));
	const whole = watchSet({ ...aboutStored(manifest, precision), relativeL2: defaultGates.relativeL2 });
	for (const golden of manifest.cases)
		cases.push(await checkCase(golden, { manifest, precision, folder, home, ports, whole, commands }));
	const ofSet = whole?.verdict() ?? null;
	if (ofSet !== null) cases.push(ofSet);
	const state = cases.every((verdict) => verdict.state === "match") ? "match" : "mismatch";
	const unfinished = unfinishedNote(manifest);
	if (unfinished !== null) terminal.err(`note: ${unfinished}\n`);
	const report: CheckReport = { golden: manifest.goldenId, precision, outputs, state, cases };
	terminal.out(args.flag("json") ? jsonText(report) : renderCheck(report));
	return state === "match" ? exitCodes.ok : exitCodes.failed;
}

interface Checking {
	manifest: GoldenManifest;
	precision: Precision;
	folder: string;
	home: string;
	ports: StoredPorts;
	whole: SetWatch | null;
	commands: AvailableCommands;
}

/** Reads only a config that was named, so that checking a golden runs no code that came with it. */
async function commandsOf(
	config: string | undefined,
	cwd: string,
	port: CustomCommands,
): Promise<AvailableCommands> {
	const scratchFolder = join(tmpdir(), "trtgate-check");
	if (config === undefined) return { known: [], cwd, scratchFolder, port };
	const read = await readConfigFile({ cwd, path: config });
	return { known: read.config.commands ?? [], cwd: read.home, scratchFolder, port };
}

function aboutStored(manifest: GoldenManifest, precision: Precision) {
	return {
		manifest,
		model: manifest.model.path,
		engine: "stored outputs",
		precision,
		modelSha256: manifest.model.sha256,
	};
}

async function checkCase(golden: GoldenCase, checking: Checking): Promise<GoldenVerdict> {
	const { manifest, precision, ports, home, whole } = checking;
	const ref = { ...aboutStored(manifest, precision), caseId: golden.id };
	const got = await readOutputs(golden, checking);
	if (got.size === 0) {
		whole?.see(golden, null);
		const [name = ""] = Object.keys(golden.outputs);
		return judgeUnanswered(
			ref,
			`there are no stored outputs of this case, such as ${golden.id}/${plainName(name)}.npy`,
		);
	}
	const expected = await readTensors(golden.outputs, home, ports);
	whole?.see(golden, { expected, got });
	const sides = { ...ref, golden, expected, got, relativeL2: defaultGates.relativeL2 };
	return judgeCase({ ...sides, answers: await runComparatorCommands(sides, checking.commands) });
}

async function readOutputs(
	golden: GoldenCase,
	{ folder, manifest, ports }: Checking,
): Promise<Map<string, Tensor>> {
	const found = new Map<string, Tensor>();
	const names = Object.keys(golden.outputs);
	for (const [index, [name, file]] of Object.entries(golden.outputs).entries()) {
		const path = await findOutput(fileNamesOf(names, index, "out"), golden.id, {
			folder,
			alone: manifest.cases.length === 1,
		});
		if (path !== null) found.set(name, await readStored(path, { ...file, name }, ports));
	}
	return found;
}

/** In the case's folder by its id or as `golden record` writes it; of a golden with one case, also without such a folder; else in one file of the case. */
async function findOutput(
	names: readonly string[],
	id: string,
	where: { folder: string; alone: boolean },
): Promise<string | null> {
	const safe = /[\\/\0]/.test(id) || id.startsWith(".") ? [] : [id];
	const folders = [...safe, folderName(id)].map((part) => join(where.folder, part));
	for (const folder of [...folders, ...(where.alone ? [where.folder] : [])]) {
		const path = await findTensor(folder, names);
		if (path !== null) return path;
	}
	for (const folder of folders) {
		const path = await findCaseFile(folder);
		if (path !== null) return path;
	}
	return null;
}

async function outputFolder(path: string): Promise<string> {
	const facts = await stat(path).catch(() => null);
	if (facts?.isDirectory() === true) return path;
	throw usageError(`--outputs: ${path} is not a folder.`, "Name the folder with a folder for each case.");
}

// `trtgate golden check`: judges stored outputs against a golden.
import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { GoldenCase, Precision } from "../../../generated/golden.ts";
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
	if (argv.some((argument) => argument === "--polygraphy" || argument.startsWith("--polygraphy=")))
		return (await import("./check-polygraphy.ts")).checkPolygraphy(argv, terminal);
	const args = parseArguments(argv, checkTable);
	const { cwd } = terminal;
	const { path, text } = await readArgument(args.positionals[0] ?? "", cwd, inputKinds.golden);
	const manifest = parseManifest(text, path);
	const outputs = args.text("outputs");
	const folder = await outputFolder(resolve(cwd, outputs));
	const precision = args.text("precision") as Precision;
	const processes = createProcesses({ env: childEnvironment() });
	stopOnSignals(() => void processes.killAll());
	const about = {
		manifest,
		model: manifest.model.path,
		engine: "stored outputs",
		precision,
		modelSha256: manifest.model.sha256,
		relativeL2: defaultGates.relativeL2,
	};
	const checking: Checking = {
		about,
		folder,
		home: dirname(resolve(cwd, path)),
		ports: { files: fileStore(), tensors: fileTensorReader() },
		whole: watchSet(about),
		commands: await commandsOf(args.text("config"), cwd, customCommands(forUsers(processes))),
	};
	const cases: GoldenVerdict[] = [];
	for (const golden of manifest.cases) cases.push(await checkCase(golden, checking));
	const ofSet = checking.whole?.verdict() ?? null;
	if (ofSet !== null) cases.push(ofSet);
	const state = cases.every((verdict) => verdict.state === "match") ? "match" : "mismatch";
	const unfinished = unfinishedNote(manifest);
	if (unfinished !== null) terminal.err(`note: ${unfinished}\n`);
	const report: CheckReport = { golden: manifest.goldenId, precision, outputs, state, cases };
	terminal.out(args.flag("json") ? jsonText(report) : renderCheck(report));
	return state === "match" ? exitCodes.ok : exitCodes.failed;
}

interface Checking {
	about: Parameters<typeof watchSet>[0];
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

async function checkCase(golden: GoldenCase, checking: Checking): Promise<GoldenVerdict> {
	const { about, ports, home, whole, folder } = checking;
	const ref = { ...about, caseId: golden.id };
	const got = new Map<string, Tensor>();
	const names = Object.keys(golden.outputs);
	const isAlone = about.manifest.cases.length === 1;
	for (const [index, [name, file]] of Object.entries(golden.outputs).entries()) {
		const path = await findOutput(fileNamesOf(names, index, "out"), golden.id, folder, isAlone);
		if (path !== null) got.set(name, await readStored(path, { ...file, name }, ports));
	}
	if (got.size === 0) {
		whole?.see(golden, null);
		const example = `${golden.id}/${plainName(names[0] ?? "")}.npy`;
		return judgeUnanswered(ref, `there are no stored outputs of this case, such as ${example}`);
	}
	const expected = await readTensors(golden.outputs, home, ports);
	whole?.see(golden, { expected, got });
	// The judge reports missing outputs.
	const sides = { ...ref, golden, expected, got };
	return judgeCase({ ...sides, answers: await runComparatorCommands(sides, checking.commands) });
}

/** In the case's folder by its id or as `golden record` writes it; of a golden with one case, also without such a folder; else in one file of the case. */
async function findOutput(
	names: readonly string[],
	id: string,
	folder: string,
	isAlone: boolean,
): Promise<string | null> {
	const safe = /[\\/\0]/.test(id) || id.startsWith(".") ? [] : [id];
	const folders = [...safe, folderName(id)].map((part) => join(folder, part));
	for (const place of isAlone ? [...folders, folder] : folders) {
		const path = await findTensor(place, names);
		if (path !== null) return path;
	}
	for (const place of folders) {
		const path = await findCaseFile(place);
		if (path !== null) return path;
	}
	return null;
}

async function outputFolder(path: string): Promise<string> {
	const facts = await stat(path).catch(() => null);
	if (facts?.isDirectory() === true) return path;
	throw usageError(`--outputs: ${path} is not a folder.`, "Name the folder with a folder for each case.");
}

// `trtgate golden check`: judges stored outputs against a golden, and shows failures in detail.
import { stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { GoldenCase, Precision } from "../../../generated/golden.ts";
import type { GoldenCheck, GoldenVerdict } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { customCommands } from "../../adapters/process/custom-command.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { parseArguments, readArgument } from "../../app/commands/arguments.ts";
import { checkTable } from "../../app/commands/golden-tables.ts";
import { forUsers } from "../../app/compose.ts";
import { readConfigFile } from "../../app/config-file.ts";
import { exitCodes } from "../../app/exit.ts";
import { stopOnSignals, type Terminal } from "../../app/terminal.ts";
import { defaultGates } from "../../core/config/config.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { apartTexts, goldenCounts } from "../../core/report/golden-format.ts";
import { jsonText, quoteName, showText } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import { formatValue } from "../../core/text/units.ts";
import { refuseLfsPointer } from "../../formats/tensor/decode.ts";
import { decodeOwnNpy } from "../../formats/tensor/npy.ts";
import { childEnvironment } from "../../host/adapters/github/env.ts";
import { judgeCase, judgeUnanswered } from "../core/compare/judge.ts";
import { parseManifest } from "../core/manifest/parse-manifest.ts";
import { unfinishedNote } from "../core/record/defects/record.ts";
import { ofSlice, type Tensor, type Tensors } from "../core/tensor/tensor.ts";
import { type SetWatch, watchSet } from "../core/whole-set/judge-set.ts";
import { maxPolygraphyBytes, parsePolygraphy, polygraphyMember } from "../formats/polygraphy/polygraphy.ts";
import { readTensors } from "../stages/load-goldens.ts";
import { type AvailableCommands, runComparatorCommands } from "../stages/run-comparator-commands.ts";
import {
	fileNamesOf,
	findTensor,
	namesOnDisk,
	plainName,
	readStored,
	severalEndings,
} from "./input-files.ts";

export async function checkGolden(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, checkTable);
	const { cwd } = terminal;
	const { path, text } = await readArgument(args.positionals[0] ?? "", cwd, inputKinds.golden);
	const manifest = parseManifest(text, path);
	const { path: model, sha256: modelSha256 } = manifest.model;
	const outputs = args.text("outputs");
	const precision = args.text("precision") as Precision;
	const { relativeL2 } = defaultGates;
	const about = { manifest, model, engine: "stored outputs", precision, modelSha256, relativeL2 };
	const checking: Checking = {
		about,
		home: dirname(resolve(cwd, path)),
		ports: { files: fileStore(), tensors: fileTensorReader() },
		outputsOf: await openOutputs(resolve(cwd, outputs), manifest.cases),
		whole: watchSet(about),
		commands: await commandsOf(args.text("config"), cwd),
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
	home: string;
	ports: Parameters<typeof readTensors>[2];
	outputsOf(golden: GoldenCase): Promise<Tensors>;
	whole: SetWatch | null;
	commands: AvailableCommands;
}

/** Reads only a config that the user named: a golden must not bring code along. */
async function commandsOf(config: string | undefined, cwd: string) {
	const processes = createProcesses({ env: childEnvironment() });
	stopOnSignals(() => void processes.killAll());
	const port = customCommands(forUsers(processes));
	const read = config === undefined ? null : await readConfigFile({ cwd, path: config });
	const scratchFolder = join(tmpdir(), "trtgate-check");
	return { known: read?.config.commands ?? [], cwd: read?.home ?? cwd, scratchFolder, port };
}

async function checkCase(golden: GoldenCase, checking: Checking) {
	const { about, home, whole } = checking;
	const ref = { ...about, caseId: golden.id };
	const got = await checking.outputsOf(golden);
	if (Object.keys(got).length === 0) {
		whole?.see(golden, null);
		const example = `${golden.id}/${plainName(Object.keys(golden.outputs)[0] ?? "")}.npy`;
		return judgeUnanswered(ref, `there are no stored outputs of this case, such as ${example}`);
	}
	const expected = await readTensors(golden.outputs, home, checking.ports);
	whole?.see(golden, { expected, got });
	const sides = { ...ref, golden, expected, got };
	return judgeCase({ ...sides, answers: await runComparatorCommands(sides, checking.commands) });
}

async function openOutputs(path: string, cases: readonly GoldenCase[]): Promise<Checking["outputsOf"]> {
	const facts = await stat(path).catch(() => null);
	if (facts?.isDirectory() === true) return (golden) => outputsInFolder(golden, path, cases.length === 1);
	if (path.toLowerCase().endsWith(".json")) return outputsOfPolygraphy(path, cases);
	throw usageError(
		`--outputs: ${path} is neither a folder nor a .json file.`,
		"Name the folder with a folder for each case, or the file of `polygraphy run --save-outputs`.",
	);
}

async function outputsOfPolygraphy(
	path: string,
	cases: readonly GoldenCase[],
): Promise<Checking["outputsOf"]> {
	const own = { what: "Polygraphy's results", maxBytes: maxPolygraphyBytes, fix: "Check the path." };
	const bytes = await readInput(path, { ...inputKinds.tensor, ...own });
	refuseLfsPointer(bytes, { path });
	const document = parsePolygraphy(bytes, { path });
	return async (golden) => {
		const iteration = cases.indexOf(golden);
		const members = Object.entries(golden.outputs).map(([member, { dtype }]) => {
			const npy = polygraphyMember(document, { path, member, iteration });
			return [member, decodeOwnNpy(npy, { path, dtype })];
		});
		return Object.fromEntries(members);
	};
}

/** In the folder of the case, in the folder of all if there is only one case, or in one file of the case. */
async function outputsInFolder(
	{ id, outputs }: GoldenCase,
	folder: string,
	isAlone: boolean,
): Promise<Tensors> {
	const got: Record<string, Tensor> = Object.create(null);
	const names = Object.keys(outputs);
	const folders = namesOnDisk([id]).map((name) => join(folder, name));
	const places = isAlone ? [...folders, folder] : folders;
	for (const [index, [name, file]] of Object.entries(outputs).entries()) {
		const path =
			(await findTensor(places, fileNamesOf(names, index, "out"))) ??
			(await findTensor([folder], [id], severalEndings));
		if (path !== null) got[name] = await readStored(path, { ...file, name });
	}
	return got;
}

interface CheckReport {
	golden: string;
	precision: Precision;
	outputs: string;
	state: "match" | "mismatch";
	cases: GoldenVerdict[];
}

const maxShown = 10;

export function renderCheck({ golden, precision, state, cases }: CheckReport): string {
	const title = `${state === "match" ? "✓" : "✗"} ${golden} at ${precision}: ${goldenCounts(cases)}`;
	const isNotable = ({ state: own, message, checks }: GoldenVerdict) =>
		own !== "match" || message !== undefined || checks.some(({ pass }) => !pass);
	const notable = cases
		.filter(isNotable)
		.sort((left, right) => Number(left.state === "match") - Number(right.state === "match"));
	const lines = [title, ...notable.slice(0, maxShown).flatMap(notableLines)];
	const hidden = notable.length - maxShown;
	if (hidden > 0)
		lines.push(`… and ${counted(hidden, "more case")} with failures or warnings (--json shows them)`);
	const plain = cases.filter((verdict) => !isNotable(verdict));
	return `${[...lines, ...matchLines(plain, notable.length > 0)].join("\n")}\n`;
}

function notableLines(verdict: GoldenVerdict) {
	const failing = verdict.checks.filter(({ pass }) => !pass);
	const passing = verdict.checks.length - failing.length;
	const others =
		passing === 0 ? [] : [`    ✓ ${counted(passing, failing.length === 0 ? "check" : "other check")}`];
	return [headOf(verdict), ...failing.flatMap(failingLines), ...others];
}

function failingLines(check: GoldenCheck) {
	if (check.worst === undefined) return [checkLine(check)];
	const { got, expected } = apartTexts(check.worst);
	const place = check.worst.index.slice(0, 12).join(",");
	return [checkLine(check), `        at [${place}]: got ${got}, expected ${expected}`];
}

function headOf(verdict: GoldenVerdict) {
	const mark = verdict.state === "match" ? "✓" : "✗";
	const message = verdict.message === undefined ? "" : `: ${showText(verdict.message)}`;
	const extent = verdict.scope === undefined ? "" : `, ${counted(verdict.cases ?? 0, "case")} together`;
	return `${mark} ${quoteName(verdict.case, "")}${extent}${message}`;
}

export function checkLine(check: GoldenCheck): string {
	const { pass, severity, output, metric, slice, got, detail, sample } = check;
	const mark = pass ? "✓" : severity === "warn" ? "!" : "✗";
	const where = sample === undefined ? "" : `, sample ${sample}`;
	const more =
		detail === undefined || (pass && !metric.startsWith("accuracy")) ? "" : `; ${showText(detail)}`;
	return `    ${mark} ${quoteName(output, "")}: ${metric}${ofSlice(slice)}${where}${got === null ? "" : ` ${formatValue(got)}`}${limitText(check)}${more}`;
}

function limitText({ allowed, bound }: GoldenCheck) {
	return allowed === null ? "" : ` (${bound === "at-most" ? "≤" : "≥"} ${formatValue(allowed)})`;
}

/** The check nearest to each limit shows limits that are too wide or nearly broken. */
function matchLines(verdicts: readonly GoldenVerdict[], besideOthers: boolean) {
	const [first] = verdicts;
	if (first === undefined) return [];
	const isAlone = verdicts.length === 1;
	const title = besideOthers
		? `✓ ${counted(verdicts.length, "case")} match; nearest to its limit:`
		: "  nearest to its limit:";
	const nearest = new Map<string, { check: GoldenCheck; caseId: string }>();
	for (const { checks, case: caseId } of verdicts)
		for (const check of checks) {
			const key = JSON.stringify([check.output, check.metric, check.slice, check.bound]);
			const known = nearest.get(key);
			if (known === undefined || roomOf(check) < roomOf(known.check)) nearest.set(key, { check, caseId });
		}
	const near = [...nearest.values()].map(({ check, caseId }) => nearLine(check, isAlone ? null : caseId));
	return [isAlone ? headOf(first) : title, ...near];
}

function nearLine(check: GoldenCheck, caseId: string | null) {
	const { output, metric, slice, sample = 0, detail } = check;
	const inSample = sample === 0 ? "" : `, sample ${sample}`;
	const where = caseId === null ? "" : `, in ${quoteName(caseId, "")}${inSample}`;
	const more = detail !== undefined && metric.startsWith("accuracy") ? `; ${showText(detail)}` : "";
	const got = check.got === null ? (detail ?? "agrees") : formatValue(check.got);
	return `    ✓ ${quoteName(output, "")}: ${metric}${ofSlice(slice)} ${got}${limitText(check)}${where}${more}`;
}

function roomOf({ got, allowed, bound }: GoldenCheck) {
	const value = Number(got ?? NaN);
	if (allowed === null || Number.isNaN(value)) return Infinity;
	return bound === "at-most" ? allowed - value : value - allowed;
}

// `trtgate golden record`: records a golden with ONNX Runtime in fp32, and refuses one that would detect too little.
import { basename, isAbsolute, join, relative } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { defaultGates } from "../../core/config/defaults.ts";
import { withStarterGolden } from "../../core/config/init.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import {
	isEquivalentGolden,
	nextRevision,
	packCase,
	revisionFolder,
	type TensorToWrite,
} from "../../core/golden/manifest/draft.ts";
import { findRuleProblem } from "../../core/golden/manifest/rules.ts";
import { describeSensitivity } from "../../core/golden/record/defects/describe.ts";
import { describeWorth } from "../../core/golden/record/inputs-worth.ts";
import type { Weakness } from "../../core/golden/record/weaknesses.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { counted } from "../../core/text/labels.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { type Recorded, record } from "../../stages/record.ts";
import type { Evidence, Limits } from "../../stages/record-limits.ts";
import { exitCodes } from "../exit.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { type GoldenPorts, withGoldenPorts } from "./compose.ts";
import { keepGolden } from "./keep.ts";
import { describeReuse, mustMatch, reusesInputs, withAccuracy } from "./previous-cases.ts";
import { type Begun, mayGoOn, readBegun, readOld } from "./read-old.ts";
import { findRecordInputs, type RecordInputs } from "./record-inputs.ts";
import { findAuthor, parseRecordOptions, type RecordOptions } from "./record-options.ts";

export async function recordGolden(argv: readonly string[], terminal: Terminal): Promise<number> {
	await recordWith(await parseRecordOptions(argv, terminal), terminal);
	return exitCodes.ok;
}

/** same: the existing golden is equivalent, and nothing was written. */
export type RecordedSet = { state: "written" | "same"; manifest: GoldenManifest };

/** @throws ConfigError golden-uninformative, and the errors of the options' files. */
export async function recordWith(options: RecordOptions, terminal: Terminal): Promise<RecordedSet> {
	const progress = progressFor(terminal, { quiet: options.quiet });
	const { onnxruntime, onnxruntimeFolder } = options;
	const how = { terminal, progress, onnxruntime, onnxruntimeFolder };
	return withGoldenPorts(how, async (ports, scratchFolder) => {
		const old = await readOld(options);
		const model = await ports.models.read(options.model);
		const author = await findAuthor(options.author, terminal.cwd, ports.processes);
		const goesOn = mayGoOn(old, options, model);
		if (!goesOn) checkChange({ old, options, author });
		const reused = reusesInputs(options) ? old : null;
		const found = await findRecordInputs({ options, model, reused, scratchFolder }, ports);
		terminal.echo(`${describeWorth(found.how, found.cases.length)}\n`);
		for (const note of found.notes) terminal.err(`note: ${note}\n`);
		if (reused !== null && !goesOn) terminal.err(`note: ${describeReuse(reused)}\n`);
		const begun = goesOn ? await readBegun(old, { folder: options.out, cases: found.cases, ports }) : null;
		if (begun === null) checkChange({ old, options, author });
		else terminal.err(`note: The recording of ${begun.manifest.goldenId} continues where it stopped.\n`);
		const recording: Recording = { options, model, found, old, reused, begun, author, files: [] };
		return recordAndKeep(recording, { ports, terminal, scratchFolder });
	});
}

interface Place {
	ports: GoldenPorts;
	terminal: Terminal;
	scratchFolder: string;
}

async function recordAndKeep(
	recording: Recording,
	{ ports, terminal, scratchFolder }: Place,
): Promise<RecordedSet> {
	const { options, model, found, old, begun } = recording;
	const keeper = await keepGolden(
		{ folder: options.out, old, goesOn: begun !== null, files: () => recording.files },
		ports.files,
	);
	const recorded = await record(
		{
			model,
			cases: found.cases,
			mayDrop: options.cases === undefined && options.inputs.length === 0 && recording.reused === null,
			begun,
			given: old === null || options.propose ? null : old,
			assemble: (evidence, limits) => checkRules(assemble({ evidence, limits, recording }, ports), options),
			isKnown: (draft) => begun === null && old !== null && isEquivalentGolden(old, draft),
			relativeL2: defaultGates.relativeL2,
			seed: options.seed,
			least: options.leastShares,
			limitMs: options.timeLimitMs,
			save: keeper.save,
			scratchFolder,
			timeoutMs: options.timeoutMs,
		},
		ports,
	);
	for (const note of recorded.notes) terminal.err(`note: ${note}\n`);
	if (recorded.findings.some(({ severity }) => severity === "refuse")) await keeper.takeBack();
	refuse(recorded.findings);
	for (const { message, fix } of recorded.findings) terminal.err(`warning: ${message}. ${fix}\n`);
	const shown = relative(options.cwd, options.out) || ".";
	if (recorded.state === "known" && old !== null) {
		terminal.echo(
			`${shown} is ${old.goldenId} already: the same model, inputs, outputs and limits. Nothing was written.\n`,
		);
		return { state: "same", manifest: old };
	}
	await keeper.finish(recorded.manifest);
	terminal.echo(describeRecorded(recorded, shown));
	if (options.unnamed !== undefined) terminal.echo(`${await nameGolden(options.unnamed, ports.files)}\n`);
	return { state: "written", manifest: recorded.manifest };
}

/** Puts the golden into the config where `trtgate init` left a comment for it. */
async function nameGolden(
	{ config, golden }: NonNullable<RecordOptions["unnamed"]>,
	files: GoldenPorts["files"],
): Promise<string> {
	const text = new TextDecoder().decode(await readInput(config, inputKinds.config));
	const named = withStarterGolden(text, golden);
	if (named === null) return `Add it to the model in ${basename(config)}: \`golden: ${golden}\`.`;
	await files.writeText(config, named);
	return `Added it to ${basename(config)}.`;
}

interface Recording {
	options: RecordOptions;
	model: ModelOnDisk;
	found: RecordInputs;
	old: GoldenManifest | null;
	/** The old one, where its inputs are recorded again. */
	reused: GoldenManifest | null;
	author: string | undefined;
	/** What an earlier run of the same command left unfinished. */
	begun: Begun | null;
	/** Filled when the manifest is put together. */
	files: TensorToWrite[];
}

/** A change of a golden needs an author and a reason. */
function checkChange({ old, options, author }: Pick<Recording, "old" | "options" | "author">): void {
	if (old === null) return;
	const missing = options.reason === undefined ? "--reason" : author === undefined ? "--author" : null;
	if (missing === null) return;
	throw usageError(
		`${join(options.out, "golden.json")} holds ${old.goldenId} already; changing it needs ${missing}.`,
		missing === "--reason"
			? 'Give the reason: --reason "…".'
			: 'Name the author: --author "…", or set git\'s user.name.',
	);
}

interface Assembling {
	evidence: Evidence;
	limits: Limits;
	recording: Recording;
}

function assemble({ evidence, limits, recording }: Assembling, ports: GoldenPorts): GoldenManifest {
	const { options, model, old, reused, found } = recording;
	const { cases, variant, version } = evidence.answers;
	const { goldenId, revision } = nextRevision(old, options.name);
	const folder = freeFolder(revision, old);
	const packed = cases.map((recorded) => packCase(recorded, folder, ports.packer));
	recording.files = packed.flatMap(({ files }) => files);
	const [first, ...others] = packed.map(({ golden }) => golden);
	if (first === undefined)
		throw new ConfigError({ code: "golden-uninformative", message: "There is no case to record." });
	const opset = model.onnx.opsets[""];
	const seed = reused === null ? options.seed : reused.producer.seed;
	return {
		schemaVersion: 1,
		goldenId,
		reason: options.reason ?? "First recording.",
		author: recording.author,
		model: { path: portablePath(options.home, options.model), sha256: model.sha256, opset },
		producer: {
			backend: `onnxruntime-${variant.flavour}`,
			version,
			precision: "fp32",
			optimisation: variant.level,
			seed,
			threads: variant.threads,
			...ports.reference.machine(),
			...(Object.keys(found.dims).length === 0 ? {} : { dims: { ...found.dims } }),
			sizes: found.sizes,
			inputs: found.how,
			preprocess: found.preprocess,
			command: options.command,
			createdAt: ports.clock.timestamp(),
		},
		...(evidence.noise === null ? {} : { noiseFloor: evidence.noise }),
		...(evidence.rounding === null ? {} : { rounding: evidence.rounding }),
		outputs: mustMatch(
			options.propose && reused !== null ? withAccuracy(limits.outputs, reused) : limits.outputs,
			options.nonFinite,
		),
		detections: limits.detections,
		cases: [first, ...others],
		...settingsOf(old, options),
	};
}

/** What the old golden has beside what was recorded. Evidence goes with the limits that it is for. */
function settingsOf(
	old: GoldenManifest | null,
	{ propose }: RecordOptions,
): Pick<GoldenManifest, "policy" | "calibration"> {
	const { policy, calibration } = old ?? {};
	return { ...(policy ? { policy } : {}), ...(calibration && !propose ? { calibration } : {}) };
}

/** A folder that the old manifest does not use, so that the old golden stays complete until the new one is written. */
function freeFolder(revision: number, old: GoldenManifest | null): string {
	const used = new Set(
		(old?.cases ?? []).flatMap(({ inputs, outputs }) =>
			[...Object.values(inputs), ...Object.values(outputs)].map(({ path }) => path.split("/")[0]),
		),
	);
	let number = revision;
	while (used.has(revisionFolder(number))) number += 1;
	return revisionFolder(number);
}

/** Relative to the config's folder, or to where the command runs; no folder of this machine. */
function portablePath(home: string, path: string): string {
	const inside = relative(home, path);
	return inside.startsWith("..") || isAbsolute(inside) ? basename(path) : inside.split("\\").join("/");
}

/** @throws ConfigError golden-uninformative, or several at once. */
function refuse(findings: readonly Weakness[]): void {
	const errors = findings
		.filter(({ severity }) => severity === "refuse")
		.map(
			({ message, fix }) =>
				new ConfigError({ code: "golden-uninformative", message: `Not recorded: ${message}.`, fix }),
		);
	const [first] = errors;
	if (first !== undefined)
		throw errors.length === 1 ? first : new AggregateError(errors, "the golden would detect too little");
}

/** Limits of an earlier revision may not fit the outputs of now. */
function checkRules(manifest: GoldenManifest, { out }: RecordOptions): GoldenManifest {
	const problem = findRuleProblem(manifest);
	if (problem === null) return manifest;
	throw new ConfigError({
		code: "golden-invalid",
		message: `The limits of ${join(out, "golden.json")} do not fit the recorded outputs: ${problem.pointer}: expected ${problem.expected}, got ${problem.got}.`,
		fix: problem.fix ?? "Correct them, or let new ones be proposed with --propose.",
	});
}

function describeRecorded({ manifest, why }: Pick<Recorded, "manifest" | "why">, shown: string): string {
	const notices = manifest.sensitivity === undefined ? [] : describeSensitivity(manifest.sensitivity);
	const limits = why.flatMap(({ output, sentences }) =>
		sentences.map((sentence) => `${output}: ${sentence}`),
	);
	const lines = [
		`Recorded ${manifest.goldenId} with ${counted(manifest.cases.length, "case")} in ${shown}.`,
		...[...notices, ...limits].map((sentence) => `  ${sentence}`),
		...(limits.length === 0
			? []
			: ["These limits are a proposal: review them in golden.json. `trtgate golden inspect` explains it."]),
	];
	return `${lines.join("\n")}\n`;
}

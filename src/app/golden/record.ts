// `trtgate golden record`: records a golden with ONNX Runtime in fp32, and refuses one that would detect too little.
import { basename, isAbsolute, join, relative } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { fileStore } from "../../adapters/files/store.ts";
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
import { describeSensitivity } from "../../core/golden/record/defects/record.ts";
import { describeWorth } from "../../core/golden/record/inputs-worth.ts";
import type { Weakness } from "../../core/golden/record/sensitivity.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { counted } from "../../core/text/labels.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { type Evidence, type Limits, type Recorded, record } from "../../stages/record.ts";
import { exitCodes } from "../exit.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { type GoldenPorts, withGoldenPorts } from "./compose.ts";
import { keepGolden, mayGoOn, readBegun, readManifest, tensorPaths } from "./keep.ts";
import { describeReuse, mustMatch, reusesInputs, withAccuracy } from "./previous-cases.ts";
import { findRecordInputs, type RecordInputs } from "./record-inputs.ts";
import { findAuthor, parseRecordOptions, type RecordOptions } from "./record-options.ts";

export async function runRecord(argv: readonly string[], terminal: Terminal): Promise<number> {
	await recordGolden(await parseRecordOptions(argv, terminal), terminal);
	return exitCodes.ok;
}

interface Recording {
	options: RecordOptions;
	model: ModelOnDisk;
	found: RecordInputs;
	old: GoldenManifest | null;
	reused: GoldenManifest | null;
	author: string | undefined;
}

/**
 * Records and keeps a golden; `same` where the existing one is equivalent, and nothing was written.
 * @throws ConfigError golden-uninformative, and the errors of the options' files.
 */
export async function recordGolden(
	options: RecordOptions,
	terminal: Terminal,
): Promise<{ state: "written" | "same"; manifest: GoldenManifest }> {
	const progress = progressFor(terminal, { quiet: options.quiet });
	const { onnxruntime, onnxruntimeFolder } = options;
	return withGoldenPorts(
		{ terminal, progress, onnxruntime, onnxruntimeFolder },
		async (ports, scratchFolder) => {
			const old = await readManifest(join(options.out, "golden.json"));
			const model = await ports.models.read(options.model);
			const author = await findAuthor(options.author, terminal.cwd, ports.processes);
			const goesOn = mayGoOn(old, options, model);
			if (!goesOn) checkChange(old, options, author);
			const reused = reusesInputs(options) ? old : null;
			const found = await findRecordInputs({ options, model, reused, scratchFolder }, ports);
			terminal.echo(`${describeWorth(found.how, found.cases.length)}\n`);
			const note = (text: string): void => terminal.err(`note: ${text}\n`);
			found.notes.forEach(note);
			if (reused !== null && !goesOn) note(describeReuse(reused));
			const begun = goesOn ? await readBegun(old, { folder: options.out, cases: found.cases, ports }) : null;
			if (begun === null) checkChange(old, options, author);
			else note(`The recording of ${begun.manifest.goldenId} continues where it stopped.`);
			const recording: Recording = { options, model, found, old, reused, author };
			let files: TensorToWrite[] = [];
			const keeper = await keepGolden(
				{ folder: options.out, old, goesOn: begun !== null, files: () => files },
				ports.files,
			);
			const input = {
				model,
				cases: found.cases,
				mayDrop: options.cases === undefined && options.inputs.length === 0 && reused === null,
				begun,
				given: old === null || options.propose ? null : old,
				assemble(evidence: Evidence, limits: Limits): GoldenManifest {
					const assembled = assemble(evidence, limits, recording, ports);
					files = assembled.files;
					return assembled.manifest;
				},
				isKnown: (draft: GoldenManifest) => begun === null && old !== null && isEquivalentGolden(old, draft),
				relativeL2: defaultGates.relativeL2,
				seed: options.seed,
				least: options.leastShares,
				limitMs: options.timeLimitMs,
				save: keeper.save,
				scratchFolder,
				timeoutMs: options.timeoutMs,
			};
			const recorded = await record(input, ports);
			recorded.notes.forEach(note);
			return conclude(recorded, keeper, recording, terminal);
		},
	);
}

async function conclude(
	recorded: Recorded,
	keeper: Awaited<ReturnType<typeof keepGolden>>,
	{ options, old }: Recording,
	terminal: Terminal,
): ReturnType<typeof recordGolden> {
	if (recorded.findings.some(({ severity }) => severity === "refuse")) {
		await keeper.takeBack();
		throw refusal(recorded.findings);
	}
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
	if (options.unnamed !== undefined) terminal.echo(`${await nameGolden(options.unnamed)}\n`);
	return { state: "written", manifest: recorded.manifest };
}

/** @throws ConfigError usage where a golden would change without an author and a reason. */
function checkChange(old: GoldenManifest | null, options: RecordOptions, author: string | undefined): void {
	const missing = options.reason === undefined ? "--reason" : author === undefined ? "--author" : null;
	if (old === null || missing === null) return;
	throw usageError(
		`${join(options.out, "golden.json")} holds ${old.goldenId} already; changing it needs ${missing}.`,
		missing === "--reason"
			? 'Give the reason: --reason "…".'
			: 'Name the author: --author "…", or set git\'s user.name.',
	);
}

function assemble(
	{ answers, noise, rounding }: Evidence,
	limits: Limits,
	{ options, model, old, reused, found, author }: Recording,
	ports: GoldenPorts,
): { manifest: GoldenManifest; files: TensorToWrite[] } {
	const { cases, variant, version } = answers;
	const { goldenId, revision } = nextRevision(old, options.name);
	const folder = freeFolder(revision, old);
	const packed = cases.map((one) => packCase(one, folder, ports.packer));
	const [first, ...others] = packed.map(({ golden }) => golden);
	if (first === undefined)
		throw new ConfigError({ code: "golden-uninformative", message: "There is no case to record." });
	const { policy, calibration } = old ?? {};
	const outputs = options.propose && reused !== null ? withAccuracy(limits.outputs, reused) : limits.outputs;
	const manifest: GoldenManifest = {
		schemaVersion: 1,
		goldenId,
		reason: options.reason ?? "First recording.",
		author,
		model: {
			path: portablePath(options.home, options.model),
			sha256: model.sha256,
			opset: model.onnx.opsets[""],
		},
		producer: {
			backend: `onnxruntime-${variant.flavour}`,
			version,
			precision: "fp32",
			optimisation: variant.level,
			seed: reused === null ? options.seed : reused.producer.seed,
			threads: variant.threads,
			...ports.reference.machine(),
			...(Object.keys(found.dims).length === 0 ? {} : { dims: { ...found.dims } }),
			sizes: found.sizes,
			inputs: found.how,
			preprocess: found.preprocess,
			command: options.command,
			createdAt: ports.clock.timestamp(),
		},
		noiseFloor: noise ?? undefined,
		rounding: rounding ?? undefined,
		outputs: mustMatch(outputs, options.nonFinite),
		detections: limits.detections,
		cases: [first, ...others],
		policy,
		// The evidence of a calibration belongs to the limits that it was for.
		calibration: options.propose ? undefined : calibration,
	};
	const problem = findRuleProblem(manifest);
	if (problem === null) return { manifest, files: packed.flatMap(({ files }) => files) };
	throw new ConfigError({
		code: "golden-invalid",
		message: `The limits of ${join(options.out, "golden.json")} do not fit the recorded outputs: ${problem.pointer}: expected ${problem.expected}, got ${problem.got}.`,
		fix: problem.fix ?? "Correct them, or let new ones be proposed with --propose.",
	});
}

/** A folder that the old manifest does not use, so that the old golden stays complete until the new one is written. */
function freeFolder(revision: number, old: GoldenManifest | null): string {
	const used = new Set((old === null ? [] : tensorPaths(old)).map((path) => path.split("/")[0]));
	let number = revision;
	while (used.has(revisionFolder(number))) number += 1;
	return revisionFolder(number);
}

/** Relative to the config's folder, or to where the command runs; never a folder of this machine. */
function portablePath(home: string, path: string): string {
	const inside = relative(home, path);
	return inside.startsWith("..") || isAbsolute(inside) ? basename(path) : inside.split("\\").join("/");
}

async function nameGolden({ config, golden }: NonNullable<RecordOptions["unnamed"]>): Promise<string> {
	const text = new TextDecoder().decode(await readInput(config, inputKinds.config));
	const named = withStarterGolden(text, golden);
	if (named === null) return `Add it to the model in ${basename(config)}: \`golden: ${golden}\`.`;
	await fileStore().writeText(config, named);
	return `Added it to ${basename(config)}.`;
}

function refusal(findings: readonly Weakness[]): Error {
	const errors = findings
		.filter(({ severity }) => severity === "refuse")
		.map(({ message, fix }) => {
			return new ConfigError({ code: "golden-uninformative", message: `Not recorded: ${message}.`, fix });
		});
	const [only] = errors;
	return only !== undefined && errors.length === 1
		? only
		: new AggregateError(errors, "the golden would detect too little");
}

function describeRecorded({ manifest, why }: Recorded, shown: string): string {
	const notices = manifest.sensitivity === undefined ? [] : describeSensitivity(manifest.sensitivity);
	const lines = [
		`Recorded ${manifest.goldenId} with ${counted(manifest.cases.length, "case")} in ${shown}.`,
		...[...notices, ...why].map((sentence) => `  ${sentence}`),
	];
	if (why.length > 0)
		lines.push(
			"These limits are a proposal: review them in golden.json. `trtgate golden inspect` explains it.",
		);
	return `${lines.join("\n")}\n`;
}

// `trtgate golden record`: records a golden with ONNX Runtime in fp32, and refuses one that would detect too little.
import { basename, join, relative } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { exitCodes } from "../../app/exit.ts";
import { progressFor, type Terminal } from "../../app/terminal.ts";
import { defaultGates } from "../../core/config/defaults.ts";
import { withStarterGolden } from "../../core/config/init.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { counted } from "../../core/text/labels.ts";
import { isEquivalentGolden, type TensorToWrite } from "../core/manifest/draft.ts";
import { describeSensitivity } from "../core/record/defects/record.ts";
import { describeWorth } from "../core/record/inputs-worth.ts";
import { type Recorded, type RecordInput, record } from "../stages/record.ts";
import { assembleGolden, type Recording } from "./assemble.ts";
import { withGoldenPorts } from "./compose.ts";
import { keepGolden, mayGoOn, readBegun, readManifest } from "./keep.ts";
import { findRecordInputs } from "./record-inputs.ts";
import { findAuthor, parseRecordOptions, type RecordOptions } from "./record-options.ts";

export async function runRecord(argv: readonly string[], terminal: Terminal): Promise<number> {
	await recordGolden(await parseRecordOptions(argv, terminal), terminal);
	return exitCodes.ok;
}

/** `same`: the existing golden is equivalent, and nothing was written. @throws ConfigError golden-uninformative, and those of the options' files. */
export async function recordGolden(
	options: RecordOptions,
	terminal: Terminal,
): Promise<{ state: "written" | "same"; manifest: GoldenManifest }> {
	const progress = progressFor(terminal, { quiet: options.quiet });
	const { out, onnxruntime, onnxruntimeFolder } = options;
	const how = { terminal, progress, onnxruntime, onnxruntimeFolder };
	return withGoldenPorts(how, async (ports, scratchFolder) => {
		const old = await readManifest(join(out, "golden.json"));
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
		const begun = goesOn ? await readBegun(old, out, found.cases, ports) : null;
		if (begun === null) checkChange(old, options, author);
		else note(`The recording of ${begun.manifest.goldenId} continues where it stopped.`);
		const recording: Recording = { options, model, found, old, reused, author };
		let files: TensorToWrite[] = [];
		const kept = { folder: out, old, goesOn: begun !== null, files: () => files };
		const keeper = await keepGolden(kept, ports.files);
		const input: RecordInput = {
			model,
			notes: [],
			cases: found.cases,
			mayDrop: options.cases === undefined && options.inputs.length === 0 && reused === null,
			begun,
			given: old === null || options.propose ? null : old,
			assemble(evidence, limits) {
				const assembled = assembleGolden(evidence, limits, recording, ports);
				files = assembled.files;
				return assembled.manifest;
			},
			isKnown: (draft) => begun === null && old !== null && isEquivalentGolden(old, draft),
			relativeL2: defaultGates.relativeL2,
			seed: options.seed,
			least: options.leastShares,
			limitMs: options.timeLimitMs,
			save: keeper.save,
			scratchFolder,
			timeoutMs: options.timeoutMs,
		};
		const recorded = await record(input, ports);
		input.notes.forEach(note);
		return conclude(recorded, keeper, recording, terminal);
	});
}

async function conclude(
	recorded: Recorded,
	keeper: Awaited<ReturnType<typeof keepGolden>>,
	{ options, old }: Recording,
	terminal: Terminal,
): ReturnType<typeof recordGolden> {
	const { findings, manifest } = recorded;
	const refusals = findings.filter(({ severity }) => severity === "refuse");
	if (refusals.length > 0) {
		await keeper.takeBack();
		throw refusal(refusals);
	}
	for (const { message, fix } of findings) terminal.err(`warning: ${message}. ${fix}\n`);
	const shown = relative(options.cwd, options.out) || ".";
	if (recorded.state === "known" && old !== null) {
		terminal.echo(
			`${shown} is ${old.goldenId} already: the same model, inputs, outputs and limits. Nothing was written.\n`,
		);
		return { state: "same", manifest: old };
	}
	await keeper.finish(manifest);
	terminal.echo(describeRecorded(recorded, shown));
	if (options.unnamed !== undefined) terminal.echo(`${await nameGolden(options.unnamed)}\n`);
	return { state: "written", manifest };
}

/** @throws ConfigError usage if a golden would change without an author and a reason. */
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

function reusesInputs({ inputs, generators, cases }: RecordOptions): boolean {
	return inputs.length === 0 && generators.length === 0 && cases === undefined;
}

function describeReuse({ goldenId, cases }: GoldenManifest): string {
	return `The ${counted(cases.length, "case")} of ${goldenId} ${cases.length === 1 ? "is" : "are"} recorded again with the stored inputs; --inputs, --generator or --cases use others.`;
}

/** Adds the golden to the config, if `init` wrote it. */
async function nameGolden({ config, golden }: NonNullable<RecordOptions["unnamed"]>): Promise<string> {
	const text = new TextDecoder().decode(await readInput(config, inputKinds.config));
	const named = withStarterGolden(text, golden);
	if (named === null) return `Add it to the model in ${basename(config)}: \`golden: ${golden}\`.`;
	await fileStore().writeText(config, named);
	return `Added it to ${basename(config)}.`;
}

function refusal(findings: Recorded["findings"]): Error {
	const errors = findings.map(
		({ message, fix }) =>
			new ConfigError({ code: "golden-uninformative", message: `Not recorded: ${message}.`, fix }),
	);
	const [only] = errors;
	return only !== undefined && errors.length === 1
		? only
		: new AggregateError(errors, "the golden would detect too little");
}

function describeRecorded({ manifest, why }: Recorded, shown: string): string {
	const notices = manifest.sensitivity === undefined ? [] : describeSensitivity(manifest.sensitivity);
	const review =
		"These limits are a proposal: review them in golden.json. `trtgate golden inspect` explains it.";
	const lines = [
		`Recorded ${manifest.goldenId} with ${counted(manifest.cases.length, "case")} in ${shown}.`,
		...[...notices, ...why].map((sentence) => `  ${sentence}`),
		...(why.length > 0 ? [review] : []),
	];
	return `${lines.join("\n")}\n`;
}

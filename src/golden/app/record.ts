// Records a golden with ONNX Runtime in fp32, and refuses one that would detect too little.
import { basename, isAbsolute, join, relative } from "node:path";
import type { GoldenManifest, GoldenOutput } from "../../../generated/golden.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { progressFor, type Terminal } from "../../app/terminal.ts";
import { withStarterGolden } from "../../core/config/init.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/text/escape.ts";
import { counted } from "../../core/text/labels.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { nextRevision, packCase, revisionFolder, type TensorToWrite } from "../core/manifest/draft.ts";
import { findRuleProblem } from "../core/manifest/parse-manifest.ts";
import { describeSensitivity } from "../core/record/defects/record.ts";
import type { DerivedLimits } from "../core/record/derive-limits.ts";
import { describeWorth } from "../core/record/generators/defaults.ts";
import { recordBudget } from "../stages/budget.ts";
import type { Evidence, Recorded, RecordInput } from "../stages/record.ts";
import { record } from "../stages/record.ts";
import type { GoldenPorts } from "./compose.ts";
import { withGoldenPorts } from "./compose.ts";
import { keepGolden, mayGoOn, readBegun, readManifest, tensorPaths } from "./keep.ts";
import { findRecordInputs, type RecordInputs } from "./record-inputs.ts";
import { findAuthor, type RecordOptions } from "./record-options.ts";
import { namingDrawn, refusal, refuseEmpty } from "./record-refusal.ts";
import { asSequences } from "./record-sequence.ts";

interface Recording {
	options: RecordOptions;
	model: ModelOnDisk;
	found: RecordInputs;
	old: GoldenManifest | null;
	reused: GoldenManifest | null;
	/** `old` is this recording, as far as its time went. */
	completes: boolean;
	author: string | undefined;
}

/** `same`: nothing was written. @throws ConfigError golden-uninformative, and those of the options' files. */
export async function recordGolden(
	given: RecordOptions,
	terminal: Terminal,
): Promise<{ state: "written" | "same"; manifest: GoldenManifest }> {
	const progress = progressFor(terminal, { quiet: given.quiet });
	const { out, onnxruntime, onnxruntimeFolder } = given;
	const how = { terminal, progress, onnxruntime, onnxruntimeFolder };
	const done = await withGoldenPorts(how, async (ports, scratchFolder) => {
		const budget = recordBudget(given.timeLimitMs, ports.clock);
		const old = await readManifest(join(out, "golden.json"));
		const file = await ports.models.read(given.model);
		const author = await findAuthor(given.author, terminal.cwd, ports.processes);
		const start = startOf(old, given, file);
		if (start.kept !== null) return { state: "same" as const, manifest: start.kept };
		if (!start.goesOn) checkChange(old, given, author);
		const { reused, completes } = start;
		const { options, model } = asSequences(file, given, reused);
		const found = await findRecordInputs({ options, model, reused, scratchFolder, budget }, ports);
		terminal.echo(`${describeWorth(found.how, found.cases.length)}\n`);
		const note = (text: string) => terminal.err(`note: ${text}\n`);
		found.notes.forEach(note);
		if (reused !== null && !start.goesOn) note(describeReuse(reused));
		const begun = start.tested && (await readBegun(start.tested, out, found.cases, ports));
		if (begun === null && !completes) checkChange(old, options, author);
		else note(`The recording of ${old?.goldenId} continues where it stopped.`);
		const recording = { options, model, found, old, reused, completes, author };
		let files: TensorToWrite[] = [];
		const kept = { folder: out, old, goesOn: begun !== null, files: () => files };
		const keeper = await keepGolden(kept, ports.files);
		const input: RecordInput = {
			model,
			notes: [],
			unfinished: [],
			budget,
			cases: found.cases,
			mayDrop: start.mayDrop,
			begun,
			old,
			proposes: start.proposes,
			assemble(evidence, limits) {
				const assembled = assembleGolden(evidence, limits, recording, ports);
				files = assembled.files;
				return assembled.manifest;
			},
			seed: options.seed,
			least: options.leastShares,
			save: keeper.save,
			scratchFolder,
			timeoutMs: options.timeoutMs,
		};
		const recorded = await record(input, ports).catch((error: unknown) => {
			throw namingDrawn(error, found);
		});
		if (!options.isTrial) input.notes.forEach(note);
		return conclude(recorded, keeper, recording, terminal);
	});
	if (given.unnamed !== undefined) terminal.echo(`${await nameGolden(given.unnamed)}\n`);
	return done;
}

/** Whether a golden that is there already stays, is changed, or was begun by the same command. */
function startOf(old: GoldenManifest | null, options: RecordOptions, model: ModelOnDisk) {
	const goesOn = mayGoOn(old, options, model);
	/** Time left out outputs or what limits are made from, so that the first command is run again. */
	const completes = goesOn && old?.unfinished !== undefined;
	const isFirst = completes && old !== null && revisionOf(old) === 1;
	const isGenerated = options.inputs.length === 0 && options.cases === undefined;
	const reused = isGenerated && options.generators.length === 0 && !isFirst ? old : null;
	const isKept = options.keepsRecorded && !goesOn && old?.model.sha256 === model.sha256;
	return {
		goesOn,
		completes,
		tested: goesOn && !completes ? old : null,
		kept: isKept ? old : null,
		reused,
		mayDrop: isGenerated && reused === null,
		proposes: options.propose || isFirst,
	};
}

async function conclude(
	recorded: Recorded,
	keeper: Awaited<ReturnType<typeof keepGolden>>,
	{ options, old, found }: Recording,
	terminal: Terminal,
): ReturnType<typeof recordGolden> {
	const { findings, manifest } = recorded;
	const refusals = findings.filter(({ severity }) => severity === "refuse");
	if (refusals.length > 0) {
		await keeper.takeBack();
		throw refusal(refusals, found);
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
	terminal.echo(describeRecorded(recorded, shown, options));
	return { state: "written", manifest };
}

function checkChange(old: GoldenManifest | null, options: RecordOptions, author: string | undefined) {
	const missing = options.reason === undefined ? "--reason" : author === undefined ? "--author" : null;
	if (old === null || missing === null) return;
	throw usageError(
		`${join(options.out, "golden.json")} holds ${old.goldenId} already; changing it needs ${missing}.`,
		missing === "--reason"
			? 'Give the reason: --reason "…".'
			: 'Name the author: --author "…", or set git\'s user.name.',
	);
}

function describeReuse({ goldenId, cases }: GoldenManifest) {
	return `The ${counted(cases.length, "case")} of ${goldenId} ${cases.length === 1 ? "is" : "are"} recorded again with the stored inputs; --inputs, --generator or --cases use others.`;
}

async function nameGolden({ config, golden }: NonNullable<RecordOptions["unnamed"]>) {
	const text = new TextDecoder().decode(await readInput(config, inputKinds.config));
	const named = withStarterGolden(text, golden);
	if (named === null) return `Add it to the model in ${basename(config)}: \`golden: ${golden}\`.`;
	await fileStore().writeText(config, named);
	return `Added it to ${basename(config)}.`;
}

function describeRecorded({ manifest, why }: Recorded, shown: string, { isTrial }: RecordOptions) {
	const notices = manifest.sensitivity === undefined ? [] : describeSensitivity(manifest.sensitivity);
	const review =
		"These limits are a proposal: review them in golden.json. `trtgate golden inspect` explains it.";
	const lines = [
		`Recorded ${manifest.goldenId} with ${counted(manifest.cases.length, "case")} in ${shown}.`,
		...[...notices, ...why].map((sentence) => `  ${sentence}`),
		...(why.length > 0 && !isTrial ? [review] : []),
	];
	return `${lines.join("\n")}\n`;
}

function assembleGolden(
	{ answers, noise, rounding, unfinished }: Evidence,
	limits: DerivedLimits,
	{ options, model, old, reused, found, completes, author }: Recording,
	ports: Pick<GoldenPorts, "pack" | "reference" | "clock">,
) {
	const { cases, variant, version } = answers;
	const { goldenId, revision } =
		completes && old !== null
			? { goldenId: old.goldenId, revision: revisionOf(old) }
			: nextRevision(old, options.name);
	const folder = freeFolder(revision, old);
	const packed = cases.map((one) => packCase(one, folder, ports.pack));
	const { policy, calibration } = old ?? {};
	const outputs = options.propose && reused !== null ? withAccuracy(limits.outputs, reused) : limits.outputs;
	const manifest: GoldenManifest = {
		schemaVersion: 1,
		goldenId,
		reason: options.reason ?? (completes ? old?.reason : undefined) ?? "First recording.",
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
		unfinished,
		outputs: mustMatch(outputs, options.nonFinite),
		detections: limits.detections,
		cases: packed.map(({ golden }) => golden) as GoldenManifest["cases"],
		sequence: model.sequence,
		policy,
		// A calibration is evidence only for the limits that it was made for.
		calibration: options.propose ? undefined : calibration,
	};
	refuseEmpty(manifest);
	const problem = findRuleProblem(manifest);
	if (problem === null) return { manifest, files: packed.flatMap(({ files }) => files) };
	throw new ConfigError({
		code: "golden-invalid",
		message: `The limits of ${join(options.out, "golden.json")} do not fit the recorded outputs: ${problem.pointer}: expected ${problem.expected}, got ${problem.got}.`,
		fix: problem.fix ?? "Correct them, or let new ones be proposed with --propose.",
	});
}

function revisionOf(golden: GoldenManifest) {
	return nextRevision(golden, "").revision - 1;
}

/** The old manifest does not use it, so that the old golden stays complete until the new one is written. */
function freeFolder(revision: number, old: GoldenManifest | null) {
	const used = new Set((old === null ? [] : tensorPaths(old)).map((path) => path.split("/")[0]));
	let number = revision;
	while (used.has(revisionFolder(number))) number += 1;
	return revisionFolder(number);
}

function portablePath(home: string, path: string) {
	const inside = relative(home, path);
	return inside.startsWith("..") || isAbsolute(inside) ? basename(path) : inside.split("\\").join("/");
}

function mapOutputs(
	outputs: GoldenManifest["outputs"],
	change: (output: GoldenOutput, name: string) => GoldenOutput,
) {
	return Object.fromEntries(Object.entries(outputs).map(([name, output]) => [name, change(output, name)]));
}

/** Only accuracy reads labels, so outputs keep it with their labels. */
export function withAccuracy(outputs: GoldenManifest["outputs"], { outputs: before, cases }: GoldenManifest) {
	return mapOutputs(outputs, (output, name) => {
		const isLabelled = cases.some(({ labels }) => Object.hasOwn(labels ?? {}, name));
		const known = Object.hasOwn(before, name) ? (before[name]?.comparators ?? []) : [];
		const accuracy = known.filter(({ kind }) => kind === "accuracy");
		const [first, ...others] = [...(output.comparators ?? []), ...accuracy];
		return isLabelled && first !== undefined ? { ...output, comparators: [first, ...others] } : output;
	});
}

export function mustMatch(outputs: GoldenManifest["outputs"], names: readonly string[]) {
	const unknown = names.find((name) => !Object.hasOwn(outputs, name));
	if (unknown !== undefined) {
		const known = Object.keys(outputs).map((name) => quoteName(name));
		throw usageError(
			`--non-finite: there is no output ${quoteName(unknown)}.`,
			`The outputs are ${known.join(", ")}.`,
		);
	}
	return mapOutputs(outputs, (output, name) =>
		names.includes(name) ? { ...output, nonFinite: "must-match" } : output,
	);
}

// Assembles the manifest of a recorded golden, with the tensors to write.
import { basename, isAbsolute, join, relative } from "node:path";
import type { GoldenManifest, GoldenOutput } from "../../../generated/golden.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { nextRevision, packCase, revisionFolder, type TensorToWrite } from "../core/manifest/draft.ts";
import { findRuleProblem } from "../core/manifest/rules.ts";
import type { Evidence, Limits } from "../stages/record.ts";
import type { GoldenPorts } from "./compose.ts";
import { tensorPaths } from "./keep.ts";
import type { RecordInputs } from "./record-inputs.ts";
import type { RecordOptions } from "./record-options.ts";

export interface Recording {
	options: RecordOptions;
	model: ModelOnDisk;
	found: RecordInputs;
	old: GoldenManifest | null;
	/** `old` if its inputs are recorded again, else null. */
	reused: GoldenManifest | null;
	author: string | undefined;
}

/** @throws ConfigError golden-invalid if the limits do not fit the outputs; golden-uninformative, usage. */
export function assembleGolden(
	{ answers, noise, rounding }: Evidence,
	limits: Limits,
	{ options, model, old, reused, found, author }: Recording,
	ports: Pick<GoldenPorts, "packer" | "reference" | "clock">,
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
		// A calibration is evidence only for the limits that it was made for.
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

/** The old manifest does not use it, so that the old golden stays complete until the new one is written. */
function freeFolder(revision: number, old: GoldenManifest | null): string {
	const used = new Set((old === null ? [] : tensorPaths(old)).map((path) => path.split("/")[0]));
	let number = revision;
	while (used.has(revisionFolder(number))) number += 1;
	return revisionFolder(number);
}

/** Never an absolute path of this machine. */
function portablePath(home: string, path: string): string {
	const inside = relative(home, path);
	return inside.startsWith("..") || isAbsolute(inside) ? basename(path) : inside.split("\\").join("/");
}

function mapOutputs(
	outputs: GoldenManifest["outputs"],
	change: (output: GoldenOutput, name: string) => GoldenOutput,
): GoldenManifest["outputs"] {
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

/** @throws ConfigError usage if the model has no such output. */
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

// The part of a model up to the tensor that bisection found wrong, with what ONNX Runtime computes there.
import { basename, join } from "node:path";
import type { GoldenManifest, GoldenOutput } from "../../generated/golden.ts";
import type { Bisection, GoldenCheck, GoldenVerdict, Result } from "../../generated/result.ts";
import { editModel } from "../adapters/onnxruntime/model-files.ts";
import { ToolError } from "../core/errors.ts";
import type { GraphEdit } from "../core/onnx/model.ts";
import { cutAt } from "../core/onnx/walk.ts";
import type { Failure } from "../core/repro/failures.ts";
import { quoted } from "../core/text/escape.ts";
import { counted } from "../core/text/labels.ts";
import { type GoldenPorts, withGoldenPorts } from "../golden/app/compose.ts";
import { bisectGraph } from "../golden/core/bisect/search.ts";
import { findInsensitive } from "../golden/core/record/sensitivity.ts";
import { type GoldenSet, readTensors } from "../golden/stages/load-goldens.ts";
import type { InferCase } from "../ports/backend.ts";
import type { ModelOnDisk } from "../ports/world.ts";
import { progressFor, type Terminal } from "./terminal.ts";

/** In the folder, where the golden's own files have other names. */
const expectedPath = "part/expected.npy";
const timeoutMs = 600_000;

export interface Part {
	edit: GraphEdit;
	says: string;
	/** The expected values are those of the packed model itself. */
	isOwn: boolean;
	golden: GoldenManifest;
	expected: { path: string; bytes: Uint8Array };
	verdict: GoldenVerdict;
}

export interface Whole {
	failure: Failure;
	model: ModelOnDisk;
	/** The model that the search compared with. */
	base: ModelOnDisk | "same" | "missing";
	set: GoldenSet;
}

type Found = Bisection & Required<Pick<Bisection, "tensor" | "allowed">>;

export function findBisection({ id, verdict }: Failure, { bisections = [] }: Result): Found | undefined {
	return bisections.find(
		(one): one is Found =>
			`${one.model}/${one.engine}` === id &&
			one.case === verdict?.case &&
			one.tensor !== undefined &&
			one.allowed !== undefined &&
			Number.isFinite(one.error),
	);
}

/** A string says why the whole model must do. @throws ToolError if ONNX Runtime cannot run the part. */
export async function cutPart(whole: Whole, found: Found, terminal: Terminal): Promise<Part | string> {
	const { failure, model, base, set } = whole;
	if (base === "missing")
		return "its part is compared with the base's model. Name the base's folder with --base to pack the part";
	const reference = base === "same" ? model : base;
	const { verdict: failed } = failure;
	const { tensor: name, case: id } = found;
	const dtype = bisectGraph(model.onnx, reference.onnx).comparable.get(name);
	const golden = set.manifest.cases.find((one) => one.id === id);
	if (dtype === undefined || golden === undefined || failed === undefined)
		return `the search's ${quoted(name)} is not in it`;
	const how = { terminal, progress: progressFor(terminal, { quiet: true }), onnxruntime: "wasm" } as const;
	return withGoldenPorts(how, async (ports, scratchFolder) => {
		const cut = await editModel(
			reference,
			cutAt(reference.onnx, { name, dtype }),
			join(scratchFolder, "part"),
		);
		const inputs = await readTensors(golden.inputs, set.folder, ports);
		const { expected, producer } = await runPart({ cut, scratchFolder, name, case: { id, inputs } }, ports);
		const { bytes, sha256 } = ports.pack(expected);
		const shape = [...expected.shape];
		const file = { path: expectedPath, sha256, dtype: expected.dtype, shape };
		const { schemaVersion, goldenId } = set.manifest;
		const comparators: GoldenOutput["comparators"] = [{ kind: "relative-l2", tolerance: found.allowed }];
		const manifest: GoldenManifest = {
			...{ schemaVersion, goldenId, producer },
			model: { path: basename(cut.path), sha256: cut.sha256 },
			outputs: { [name]: { batchAxis: null, comparators } },
			cases: [{ id, inputs: golden.inputs, outputs: { [name]: file } }],
		};
		if (findInsensitive(manifest, [{ [name]: expected }]).length > 0)
			return `${quoted(name)} alone makes a golden that detects too little`;
		const edit = cutAt(model.onnx, { name, dtype, dims: shape.map(() => null) });
		const says = `${edit.nodes.length} of ${counted(model.onnx.graph.nodes.length, "node")}, up to ${quoted(name)}`;
		const verdict = verdictOf(found, failed, shape);
		const isOwn = base === "same";
		return { edit, says, isOwn, golden: manifest, expected: { path: expectedPath, bytes }, verdict };
	});
}

interface PartRun {
	cut: ModelOnDisk;
	scratchFolder: string;
	name: string;
	case: InferCase;
}

/** As the search ran it. */
async function runPart({ cut, scratchFolder, name, case: one }: PartRun, { reference }: GoldenPorts) {
	const [build] = await reference.builds();
	const { flavour = "wasm", version = "" } = build ?? {};
	const variant = { flavour, level: "basic", threads: 1 } as const;
	const logPath = join(scratchFolder, "part.log");
	const result = await reference.run({
		model: cut,
		cases: [one],
		variant,
		scratchFolder,
		logPath,
		timeoutMs,
	});
	if (result.state === "failed") throw new ToolError({ ...result.failure });
	const [first] = result.cases;
	const expected = first?.state === "done" ? first.outputs[name] : undefined;
	if (expected !== undefined)
		return { expected, producer: { backend: `onnxruntime-${flavour}`, version, precision: "fp32" } as const };
	const why = first?.state === "failed" ? first.message : "nothing came back.";
	const fix = "Pack the whole model with --whole.";
	throw new ToolError({ code: "tool-crashed", message: `ONNX Runtime did not run the part: ${why}`, fix });
}

/** The error is that of the search, in which the tensor was marked as an output of the whole model. */
function verdictOf(found: Found, verdict: GoldenVerdict, shape: readonly number[]): GoldenVerdict {
	const { tensor: output, error: got = null, allowed } = found;
	const limit = { metric: "relative-l2", got, allowed, bound: "at-most" } as const;
	const elements = shape.reduce((product, size) => product * size, 1);
	const { message, ...rest } = verdict;
	const check: GoldenCheck = { output, ...limit, pass: false, severity: "fail", elements };
	return { ...rest, state: "mismatch", checks: [check] };
}

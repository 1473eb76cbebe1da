// Tells what the base truly has not, which is new, from what it has and cannot give, which is an error: no comparison is no pass.
import { recordFault } from "../core/error-record.ts";
import { ConfigError } from "../core/errors.ts";
import type { ModelOnDisk } from "../ports/world.ts";
import type { Context, PreparedModel, PrepareInput, Wanted } from "./prepared.ts";

export const fixOfCommand = "Let the command work in the base as well: it runs in a checkout of the base, on the base's own files.";
/** The base lies on a branch already: a change cannot fix it. */
export const otherBase =
	"Where the base itself is at fault, fix it first, or compare with another commit: `--base`, the input `base`, or `baseline.ref` in the config.";

/** Other problems of external data are the model's own, which preflight judges. */
const notWhole: ReadonlySet<string | null> = new Set(["lfs-pointer", "missing", "short"]);

/** @param path of the model; null where nothing is there. */
export async function readBase(path: string | null, wanted: Wanted, { input, ports }: Context): Promise<ModelOnDisk | PreparedModel> {
	const { spec, complaint } = wanted;
	const { onnx } = spec.engine;
	if (complaint !== null && (path !== null || input.isKnownToBase(spec))) {
		const message = `The prepare command of ${spec.model.name} failed in the base: ${complaint.message}`;
		return brokenBase(wanted, { code: "prepare-failed", message, details: complaint.details });
	}
	if (path === null) return complaint === null ? notMade(wanted, input) : absentFromBase(onnx, wanted, input);
	try {
		const model = await ports.models.read(path);
		const external = model.external.find(({ problem }) => notWhole.has(problem));
		if (external === undefined) return model;
		const message = `The base's ${onnx} cannot be used: its external data ${external.location} is ${problemLabels[external.problem ?? ""]}.`;
		return brokenBase(wanted, { code: "model-unreadable", message, details: { fix: otherBase } });
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		const { excerpt, fix = "" } = error.details;
		const message = `The base's model cannot be read: ${error.message.split(path).join(onnx)}`;
		return brokenBase(wanted, {
			code: error.code,
			message,
			details: { ...(excerpt ? { excerpt } : {}), fix: `${fix} ${otherBase}`.trim() },
		});
	}
}

const problemLabels: Readonly<Record<string, string>> = { "lfs-pointer": "a Git LFS pointer", missing: "not there", short: "too short" };

/** A command that ended well should have made what the base's config speaks of. */
async function notMade(wanted: Wanted, input: PrepareInput): Promise<PreparedModel> {
	const { spec } = wanted;
	const { onnx } = spec.engine;
	if (spec.model.prepare === undefined || !input.isKnownToBase(spec)) return absentFromBase(onnx, wanted, input);
	const message = `The prepare command of ${spec.model.name} ended well in the base, and made no ${onnx}.`;
	return brokenBase(wanted, { code: "model-missing", message, details: { fix: `${fixOfCommand} ${otherBase}` } });
}

export async function absentFromBase(path: string, wanted: Wanted, input: PrepareInput): Promise<PreparedModel> {
	const { spec, folder } = wanted;
	const why = (await folder.whyAbsent?.(path)) ?? null;
	if (why === null)
		return { state: "missing", spec, arm: folder.arm, isNew: !input.isKnownToBase(spec), reason: `the base has no ${path}` };
	const fix = `Put the file itself into the repository, or let the model's \`prepare\` fetch it. ${otherBase}`;
	return brokenBase(wanted, { code: "model-missing", message: `The base's ${path} is not in its checkout: ${why}.`, details: { fix } });
}

export function brokenBase({ spec, folder }: Wanted, fault: Parameters<typeof recordFault>[0]): PreparedModel {
	const place = { model: spec.model.name, arm: folder.arm };
	const { lfsProblem } = folder;
	const isOfLfs = lfsProblem !== undefined && fault.code === "model-unreadable";
	if (!isOfLfs) return { state: "broken", spec, arm: folder.arm, error: recordFault(fault, place, "configuration") };
	const fix = "Give the runner git-lfs, and the workflow's token or the remote the right to read these files; then run it again.";
	const details = { ...fault.details, fix: `${fix} ${otherBase}` };
	const error = recordFault({ code: "lfs-unavailable", message: `${fault.message} ${lfsProblem}`, details }, place);
	return { state: "broken", spec, arm: folder.arm, error };
}

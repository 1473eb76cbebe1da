// Which files a run that reports success touched, and which could not be checked.
import type { Diagnosis } from "../../core/errors.ts";
import { listNames } from "../../core/text/labels.ts";
import { diagnose, type Evidence, flagsOf } from "./diagnose.ts";
import type { LogScan } from "./log-scan.ts";
import { dumpBytes } from "./output-dump.ts";

export function touchedFiles(evidence: Evidence & { scan: LogScan }) {
	const flags = flagsOf(evidence.argv ?? evidence.scan.facts.command ?? []);
	const path = (flag: string) => flags.get(flag) || null;
	const inputs = [...evidence.scan.facts.loadedInputs.values()].map((loaded) => loaded.path);
	return { model: path("--onnx"), inputs: [...new Set(inputs)], plan: path("--saveEngine") };
}

/** A success that could not be fully checked is `unverified`, with a list of what is unchecked. */
export function diagnoseHonestly(evidence: Evidence & { scan: LogScan }): Diagnosis {
	const diagnosis = diagnose(evidence);
	const missing = diagnosis.code === "ok" ? unchecked(evidence) : [];
	if (missing.length === 0) return diagnosis;
	return {
		...diagnosis,
		code: "unverified",
		title: `trtexec reports success, but some evidence is missing. Not checked: ${listNames(missing, 4)}.`,
		fix: "Run `trtgate diagnose` on the whole log, where this run's files are. `trtgate run` checks all of them during the run.",
	};
}

function unchecked(evidence: Evidence & { scan: LogScan }) {
	const { facts } = evidence.scan;
	if (!facts.hasStart) return ["the start of trtexec's log"];
	if (facts.printedHelp) return [];
	const { model, plan } = touchedFiles(evidence);
	const sizes = new Set((evidence.inputs ?? []).map((file) => file.path));
	const read = [...facts.loadedInputs].flatMap(([name, { path }]) => {
		const dump = facts.dumps.get(`input ${name}`);
		return sizes.has(path) && dump !== undefined && dumpBytes(dump.tensor) !== null
			? []
			: [`the size of ${path}`];
	});
	const loads = flagsOf(evidence.argv ?? facts.command ?? []).get("--loadEngine");
	return [
		...(model !== null && evidence.model === undefined ? [`the tensors of ${model}`] : []),
		...(plan !== null && evidence.wrote?.some((file) => file.path === plan) !== true
			? [`the plan ${plan}`]
			: []),
		...(loads && evidence.plan === undefined ? [`whether ${loads} is unchanged since its build`] : []),
		...read,
	];
}

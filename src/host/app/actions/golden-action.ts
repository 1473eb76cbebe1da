// The action in golden/: records or calibrates goldens, and proposes them as one pull request.

import { notice, setFailed, setOutput } from "@actions/core";
import { readConfigFile } from "../../../app/config-file.ts";
import { exitCodes, explainError } from "../../../app/exit.ts";
import { stopOnSignals } from "../../../app/terminal.ts";
import { ToolError } from "../../../core/errors.ts";
import { escapeMarkdown } from "../../../core/text/escape.ts";
import {
	calibrateModels,
	chooseTargets,
	type GoldenJob,
	openGoldenJob,
	type RecordedGoldens,
	type RecordedModel,
	recordModel,
} from "../../../golden/app/action-models.ts";
import { type GoldenProposal, proposeGoldens } from "../../../golden/app/propose-goldens.ts";
import { log, writeSummary } from "../../adapters/github/log.ts";
import { reportError } from "./workflow-run.ts";

export async function runGoldenAction(): Promise<number> {
	let reason: string | null = null;
	const removeListeners = stopOnSignals((why) => {
		reason = why;
	});
	try {
		const job = await openGoldenJob();
		const done = job.inputs.calibrate ? await calibrateModels(job) : await recordAll(job, () => reason);
		if (reason !== null)
			throw new ToolError({ code: "interrupted", message: `Nothing was proposed: ${reason}.` });
		const proposal = await proposeGoldens(done, job);
		await writeGoldenOutputs(done, proposal);
		return conclude(proposal.state === "failed" ? [...done.errors, proposal.error] : done.errors);
	} catch (error) {
		return conclude([error]);
	} finally {
		removeListeners();
	}
}

/** One failed model does not stop the others. @throws ToolError interrupted. */
async function recordAll(job: GoldenJob, stopped: () => string | null) {
	const { terminal, inputs } = job;
	const { config, home } = await readConfigFile({
		cwd: terminal.cwd,
		path: inputs.config,
		workspace: terminal.cwd,
	});
	const done: RecordedGoldens = { home, recorded: [], errors: [], notes: [] };
	for (const target of chooseTargets(config, inputs.model)) {
		try {
			done.recorded.push(await recordModel(target, job, home));
		} catch (error) {
			done.errors.push(error);
			done.notes.push(
				`${target.model.name} was not recorded: ${explainError(error).records[0]?.message ?? ""}`,
			);
		}
		const why = stopped();
		if (why !== null) throw new ToolError({ code: "interrupted", message: `Nothing was proposed: ${why}.` });
	}
	return done;
}

/** Unlike in the gate, a pull request that cannot be opened is a failure. */
function conclude(errors: readonly unknown[]) {
	const explained = errors.map((error) => ({
		exit: reportError(error),
		records: explainError(error).records,
	}));
	const kinds = explained.flatMap(({ records }) => records.map(({ kind }) => kind));
	setOutput("failure-kind", kinds[0] ?? "");
	if (explained.length === 0) return exitCodes.ok;
	setFailed("trtgate golden failed");
	const least = kinds.includes("github") ? exitCodes.runner : exitCodes.ok;
	return Math.max(least, ...explained.map(({ exit }) => exit));
}

async function writeGoldenOutputs({ recorded, notes, errors }: RecordedGoldens, proposal: GoldenProposal) {
	const proposed = proposal.state === "proposed" ? proposal.proposed : null;
	setOutput("changed", String(proposal.state !== "none"));
	setOutput("pull-request", String(proposed?.pull.number ?? ""));
	setOutput("pull-request-url", proposed?.pull.url ?? "");
	setOutput("branch", proposal.state === "proposed" ? proposal.branch : "");
	setOutput("commit", proposed?.commit ?? "");
	const message = describe(proposal, recorded);
	log(message);
	if (proposed !== null || (proposal.state === "none" && errors.length === 0))
		notice(message, { title: "trtgate golden" });
	for (const note of notes) log(`note: ${note}`);
	const lines = [message, ...notes].map((line) => escapeMarkdown(line)).join("\n\n");
	await writeSummary(`## trtgate golden\n\n${lines}\n\n${proposal.state === "none" ? "" : proposal.body}\n`);
}

function describe(proposal: GoldenProposal, recorded: readonly RecordedModel[]) {
	if (proposal.state === "failed")
		return "The recorded goldens are in the workspace, but not in a pull request.";
	if (proposal.state === "proposed") {
		const { pull, pullIs, commit, isNew } = proposal.proposed;
		const what = isNew
			? `has the recorded goldens in commit ${commit.slice(0, 7)}`
			: "already had the recorded goldens";
		return `Pull request ${pull.number} (${pull.url}) was ${pullIs === "left as it is" ? "left unchanged" : pullIs}; its branch ${what}.`;
	}
	if (recorded.length === 0) return "Nothing was recorded.";
	const names = recorded.map(({ manifest }) => manifest.goldenId).join(", ");
	return `Nothing changed: ${names} ${recorded.length === 1 ? "is" : "are"} up to date. There is no pull request to open.`;
}

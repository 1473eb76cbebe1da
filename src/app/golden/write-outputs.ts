// Writes the result to the workflow: outputs, the log, an annotation, and the job summary.
import { notice, setOutput, summary } from "@actions/core";
import { log } from "../../adapters/github/log.ts";
import { escapeMarkdown } from "../../core/text/escape.ts";
import type { Proposed } from "../../stages/propose/proposal.ts";
import type { GoldenProposal, RecordedGoldens } from "./propose-goldens.ts";
import type { RecordedModel } from "./record-models.ts";

export async function writeGoldenOutputs({ recorded, notes, errors }: RecordedGoldens, proposal: GoldenProposal): Promise<void> {
	const proposed = proposal.state === "proposed" ? proposal.proposed : null;
	setOutput("changed", String(proposal.state !== "none"));
	setOutput("pull-request", String(proposed?.pull.number ?? ""));
	setOutput("pull-request-url", proposed?.pull.url ?? "");
	setOutput("branch", proposal.state === "proposed" ? proposal.branch : "");
	setOutput("commit", proposed?.commit ?? "");
	const message = describe(proposal, recorded);
	log(message);
	if (proposed !== null || (proposal.state === "none" && errors.length === 0)) notice(message, { title: "trtgate golden" });
	for (const note of notes) log(`note: ${note}`);
	const lines = [message, ...notes].map((line) => escapeMarkdown(line)).join("\n\n");
	await summary.addRaw(`## trtgate golden\n\n${lines}\n\n${proposal.state === "none" ? "" : proposal.body}\n`).write();
}

function describe(proposal: GoldenProposal, recorded: readonly RecordedModel[]): string {
	switch (proposal.state) {
		case "none":
			return describeSame(recorded);
		case "proposed":
			return describeProposed(proposal.proposed);
		case "failed":
			return "The recorded goldens are in the workspace, but not in a pull request.";
	}
}

function describeSame(recorded: readonly RecordedModel[]): string {
	if (recorded.length === 0) return "Nothing was recorded.";
	const names = recorded.map(({ manifest }) => manifest.goldenId).join(", ");
	return `Nothing changed: ${names} ${recorded.length === 1 ? "is" : "are"} up to date. There is no pull request to open.`;
}

function describeProposed({ pull, pullIs, commit, isNew }: Proposed): string {
	const what = isNew ? `has the recorded goldens in commit ${commit.slice(0, 7)}` : "already had the recorded goldens";
	return `Pull request ${pull.number} (${pull.url}) was ${pullIs === "left as it is" ? "left unchanged" : pullIs}; its branch ${what}.`;
}

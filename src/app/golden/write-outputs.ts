// Tells the workflow what became of the goldens: outputs, the log, an annotation, and the job summary.
import { notice, setOutput, summary } from "@actions/core";
import { log } from "../../adapters/github/publish.ts";
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
	const words = describe(proposal, recorded);
	log(words);
	if (proposed !== null || (proposal.state === "none" && errors.length === 0)) notice(words, { title: "trtgate golden" });
	for (const note of notes) log(`note: ${note}`);
	const said = [words, ...notes].map((line) => escapeMarkdown(line)).join("\n\n");
	await summary.addRaw(`## trtgate golden\n\n${said}\n\n${proposal.state === "none" ? "" : proposal.body}\n`).write();
}

function describe(proposal: GoldenProposal, recorded: readonly RecordedModel[]): string {
	switch (proposal.state) {
		case "none":
			return describeSame(recorded);
		case "proposed":
			return describeProposed(proposal.proposed);
		case "failed":
			return "What was recorded lies in the workspace, and no pull request holds it.";
	}
}

function describeSame(recorded: readonly RecordedModel[]): string {
	if (recorded.length === 0) return "Nothing was recorded.";
	const names = recorded.map(({ manifest }) => manifest.goldenId).join(", ");
	return `Nothing changed: ${names} still ${recorded.length === 1 ? "says" : "say"} what is right. There is no pull request to open.`;
}

function describeProposed({ pull, pullIs, commit, isNew }: Proposed): string {
	const what = isNew ? `holds what was recorded, in commit ${commit.slice(0, 7)}` : "held all that was recorded already";
	return `Pull request ${pull.number} (${pull.url}) was ${pullIs === "left as it is" ? "there" : pullIs}; its branch ${what}.`;
}

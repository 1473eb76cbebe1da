// Opens a job of the action in golden/: its inputs, its run, and whether it may change goldens.

import { openTerminal, type Terminal } from "../../app/terminal.ts";
import { ConfigError, usageError } from "../../core/errors.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { type GoldenInputs, readGoldenInputs } from "../../host/adapters/github/inputs.ts";
import { requireRun } from "../../host/app/actions/workflow-run.ts";
import type { RunEvent } from "../../host/formats/github/event.ts";
import { isRefName } from "../../host/formats/github/names.ts";
import type { Host } from "../../ports/code-host.ts";

export interface GoldenJob {
	terminal: Terminal;
	inputs: GoldenInputs;
	host: Host;
	author: string;
}

/** @throws ConfigError usage, proposal-refused. */
export async function openGoldenJob(): Promise<GoldenJob> {
	const opened = openTerminal({ color: false });
	const inputs = readGoldenInputs();
	const { run, event, host } = await requireRun(
		opened.environment,
		inputs.token,
		"`trtgate golden record` records goldens",
	);
	checkTrust(event, run.eventName);
	checkInputs(inputs);
	const terminal: Terminal = { ...opened, cwd: opened.environment.workspace ?? opened.cwd };
	return { terminal, inputs, host, author: inputs.author.trim() || run.actor || "unknown" };
}

const trusted: readonly RunEvent["kind"][] = ["push", "tag", "schedule", "dispatch"];

/** @throws ConfigError proposal-refused. */
export function checkTrust(event: RunEvent, eventName: string): void {
	if (trusted.includes(event.kind)) return;
	// pull_request_target is excluded: it runs with write access on code that an outsider may have written.
	if (event.kind === "pull-request" && eventName === "pull_request" && !event.isFork) return;
	const whose = event.kind === "pull-request" && event.isFork ? "a fork's " : "";
	throw proposalRefused(
		`Goldens are not recorded in a run for ${whose}${quoteName(eventName)}, which outsiders may trigger or change: it would write the reference for every later engine.`,
		"Run it on workflow_dispatch, schedule, push, or a pull_request of the repository's own branches.",
	);
}

/** @throws ConfigError usage. */
export function checkInputs(inputs: Pick<GoldenInputs, "reason" | "branch" | "base">): void {
	if (inputs.reason.trim() === "")
		throw usageError("Input reason is empty.", "Explain why the expected outputs change.");
	for (const input of ["branch", "base"] as const) {
		const name = inputs[input];
		if (isRefName(name) || (input === "base" && name === "")) continue;
		throw usageError(
			`Input ${input} is ${quoteName(name)}, which is not a valid branch name.`,
			"Correct it under `with:`.",
		);
	}
}

export function proposalRefused(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "proposal-refused", message, fix });
}

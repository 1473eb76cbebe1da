// Proposes the goldens that were recorded: one commit, one branch, one pull request.
import { childEnvironment } from "../../adapters/github/env.ts";
import { githubRepository } from "../../adapters/github/repository.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { PlatformError } from "../../core/errors.ts";
import {
	type GoldenPull,
	goldenCommitMessage,
	goldenPullBody,
	goldenPullMarker,
	goldenPullTitle,
	goldenTrailer,
} from "../../core/report/golden-pull.ts";
import type { ApiFault, Repository } from "../../ports/code-host.ts";
import type { Proposed } from "../../stages/propose/proposal.ts";
import { propose } from "../../stages/propose.ts";
import type { GoldenJob } from "./action-job.ts";
import { type Checkout, openCheckout, proposalRefused } from "./checkout.ts";
import { changedFiles } from "./proposal.ts";
import type { RecordedModel } from "./record-models.ts";

export interface RecordedGoldens {
	/** Folder of the config. */
	home: string;
	recorded: RecordedModel[];
	/** Of models that were not recorded. */
	errors: unknown[];
	notes: string[];
}

/** none: nothing is new. `body` is Markdown. */
export type GoldenProposal =
	| { state: "none" }
	| { state: "proposed"; proposed: Proposed; branch: string; body: string }
	| { state: "failed"; error: unknown; body: string };

export async function proposeGoldens(done: RecordedGoldens, job: GoldenJob): Promise<GoldenProposal> {
	if (done.recorded.every(({ state }) => state === "same")) return { state: "none" };
	const processes = createProcesses({ env: childEnvironment() });
	let body = "";
	try {
		const checkout = await openCheckout(done.home, processes);
		const pull = describePull(done, job, checkout);
		body = goldenPullBody(pull);
		const proposed = await sendPull(pull, body, { done, job, checkout });
		return { state: "proposed", proposed, branch: pull.branch, body };
	} catch (error) {
		return { state: "failed", error, body };
	} finally {
		await processes.killAll();
	}
}

function describePull({ recorded, notes }: RecordedGoldens, { inputs, author }: GoldenJob, { commit }: Checkout): GoldenPull {
	const goldens = recorded
		.filter(({ state }) => state === "written")
		.map(({ model, path, manifest, old, change }) => ({ model: model.name, path, manifest, before: old?.goldenId ?? null, change }));
	return { goldens, reason: inputs.reason, author, commit, branch: inputs.branch, notes, calibrated: inputs.calibrate };
}

interface Sending {
	done: RecordedGoldens;
	job: GoldenJob;
	checkout: Checkout;
}

/** @throws ConfigError proposal-refused, PlatformError. */
async function sendPull(pull: GoldenPull, body: string, { done, job, checkout }: Sending): Promise<Proposed> {
	const { inputs, run } = job;
	const written = done.recorded.filter(({ state }) => state === "written");
	const files = await changedFiles(written, done.home, checkout);
	const repository = githubRepository({ ...run, token: inputs.token });
	const end = await propose(
		{
			...files,
			commit: checkout.commit,
			base: inputs.base || (await defaultBranch(repository)),
			branch: pull.branch,
			draft: inputs.draft,
			title: goldenPullTitle(pull),
			body,
			marker: goldenPullMarker,
			message: goldenCommitMessage(pull),
			trailer: goldenTrailer(pull.branch),
		},
		repository,
	);
	if (end.state === "failed") throw platformError(end.fault);
	if (end.state === "refused") throw proposalRefused(end.why, end.fix);
	return end.proposed;
}

async function defaultBranch(repository: Repository): Promise<string> {
	const found = await repository.defaultBranch();
	if (found.state === "failed") throw platformError(found.fault);
	return found.branch;
}

function platformError({ code, message, fix }: ApiFault): PlatformError {
	return new PlatformError({ code, message, fix });
}

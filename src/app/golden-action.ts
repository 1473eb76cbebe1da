// The action in golden/: records the goldens of models, and proposes what changed as one pull request.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { notice, setFailed, setOutput, summary } from "@actions/core";
import { childEnvironment, readWorkflowRun, type WorkflowRun } from "../adapters/github/env.ts";
import { type GoldenInputs, readGoldenInputs } from "../adapters/github/inputs.ts";
import { githubRepository } from "../adapters/github/repository.ts";
import { say } from "../adapters/github/say.ts";
import { createProcesses } from "../adapters/process/processes.ts";
import { ConfigError, PlatformError } from "../core/errors.ts";
import { quoteName } from "../core/onnx/quote.ts";
import { disarmCommands, escapeMarkdown } from "../core/report/escape.ts";
import {
	type GoldenPull,
	goldenCommitMessage,
	goldenPullBody,
	goldenPullMarker,
	goldenPullTitle,
	goldenTrailer,
} from "../core/report/golden-pull.ts";
import { isRefName } from "../formats/github/names.ts";
import type { Repository } from "../ports/forge.ts";
import { type Proposed, propose } from "../stages/propose.ts";
import { announce } from "./announce.ts";
import { exitCodes, explainError } from "./exit.ts";
import { changedFiles, openCheckout } from "./golden/proposal.ts";
import { chooseTargets, type RecordedModel, readGoldenConfig, recordModel } from "./golden/record-models.ts";
import { readRunEvent } from "./run-event.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** Where we are, and what is wanted of us. */
interface Job {
	terminal: Terminal;
	inputs: GoldenInputs;
	run: WorkflowRun;
	author: string;
}

export async function runGoldenAction(): Promise<number> {
	try {
		const job = await openJob();
		const done = await recordAll(job);
		const proposed = await proposeAll(done, job);
		await tell(done, proposed);
		return conclude(done.errors);
	} catch (error) {
		return conclude([error]);
	}
}

async function openJob(): Promise<Job> {
	const opened = openTerminal({ color: false });
	const { environment } = opened;
	const [inputs, run, event] = [readGoldenInputs(), readWorkflowRun(), await readRunEvent(environment)];
	if (run === null || event === undefined)
		throw usage("This action runs in a workflow of GitHub Actions only.", "On your machine, `trtgate golden record` records goldens.");
	const isTrusted =
		["push", "tag", "schedule", "dispatch"].includes(event.kind) ||
		(event.kind === "pull-request" && !event.isFork && run.eventName === "pull_request");
	if (!isTrusted) throw untrusted(run.eventName);
	if (inputs.reason.trim() === "") throw usage("Input reason is empty.", "Say why what is right changes.");
	for (const [name, ref] of [
		["branch", inputs.branch],
		["base", inputs.base || "main"],
	] as const)
		if (!isRefName(ref)) throw usage(`Input ${name} is ${quoteName(ref)}, which is no name of a branch.`, "Correct it under `with:`.");
	// What models are called must not command the runner.
	const terminal: Terminal = {
		...opened,
		cwd: environment.workspace ?? opened.cwd,
		out: (text) => opened.out(disarmCommands(text)),
		err: (text) => opened.err(disarmCommands(text)),
	};
	return { terminal, inputs, run, author: inputs.author.trim() || run.actor || "unknown" };
}

function untrusted(eventName: string): ConfigError {
	return new ConfigError({
		code: "proposal-refused",
		message: `Goldens are not recorded in a run for ${quoteName(eventName)} that a stranger may cause or change: it would write what every later engine is held to.`,
		details: { fix: "Run it on workflow_dispatch, schedule, push, or a pull_request of the repository's own branches." },
	});
}

interface Done {
	home: string;
	recorded: RecordedModel[];
	/** Of models that were not recorded. */
	errors: unknown[];
	notes: string[];
}

/** A model that cannot be recorded does not keep the others from it. */
async function recordAll({ terminal, inputs, author }: Job): Promise<Done> {
	const { config, home } = await readGoldenConfig(terminal.cwd, inputs.config);
	const done: Done = { home, recorded: [], errors: [], notes: [] };
	for (const target of chooseTargets(config, inputs.model)) {
		const scratchFolder = await mkdtemp(join(terminal.environment.temp ?? tmpdir(), "trtgate-old-"));
		try {
			const one = await recordModel(target, { inputs, author, home, scratchFolder, terminal });
			done.recorded.push(one);
			done.notes.push(...one.notes);
		} catch (error) {
			done.errors.push(error);
			done.notes.push(`${target.model.name} was not recorded: ${explainError(error).records[0]?.message ?? ""}`);
		} finally {
			await rm(scratchFolder, { recursive: true, force: true });
		}
	}
	return done;
}

interface Shown extends Proposed {
	branch: string;
	/** Markdown. */
	body: string;
}

/** null: there is nothing to propose. */
async function proposeAll({ home, recorded, notes }: Done, job: Job): Promise<Shown | null> {
	const written = recorded.filter(({ state }) => state === "written");
	if (written.length === 0) return null;
	const { inputs, run, author } = job;
	const processes = createProcesses({ env: childEnvironment() });
	const repository = githubRepository({ ...run, token: inputs.token });
	try {
		const checkout = await openCheckout(home, processes);
		const files = await changedFiles(written, home, checkout);
		const { branch, draft, reason } = inputs;
		const goldens = written.map(({ model, path, manifest, change }) => ({ model: model.name, path, manifest, change }));
		const pull: GoldenPull = { goldens, reason, author, commit: checkout.commit, branch, notes };
		const body = goldenPullBody(pull);
		const end = await propose(
			{
				...{ ...files, branch, draft, commit: checkout.commit, base: inputs.base || (await defaultBranch(repository)) },
				...{ title: goldenPullTitle(pull), body, message: goldenCommitMessage(pull) },
				...{ marker: goldenPullMarker, trailer: goldenTrailer(branch) },
			},
			repository,
		);
		if (end.state === "failed") throw new PlatformError({ ...end.fault, details: { fix: end.fault.fix } });
		if (end.state === "refused") throw new ConfigError({ code: "proposal-refused", message: end.why, details: { fix: end.fix } });
		return { ...end.proposed, branch, body };
	} finally {
		await processes.killAll();
	}
}

async function defaultBranch(repository: Repository): Promise<string> {
	const asked = await repository.defaultBranch();
	if (asked.state === "failed") throw new PlatformError({ ...asked.fault, details: { fix: asked.fault.fix } });
	return asked.branch;
}

async function tell({ recorded, notes, errors }: Done, proposed: Shown | null): Promise<void> {
	setOutput("changed", String(proposed !== null));
	setOutput("pull-request", proposed === null ? "" : String(proposed.pull.number));
	setOutput("pull-request-url", proposed?.pull.url ?? "");
	setOutput("branch", proposed?.branch ?? "");
	setOutput("commit", proposed?.commit ?? "");
	const words = proposed === null ? nothingChanged(recorded) : describe(proposed);
	if (proposed !== null || errors.length === 0) {
		say(words);
		notice(words, { title: "trtgate golden" });
	}
	for (const note of notes) say(`note: ${note}`);
	const said = [words, ...notes].map((line) => escapeMarkdown(line)).join("\n\n");
	await summary.addRaw(`## trtgate golden\n\n${said}\n\n${proposed?.body ?? ""}\n`).write();
}

function nothingChanged(recorded: readonly RecordedModel[]): string {
	const names = recorded.map(({ manifest }) => manifest.goldenId).join(", ");
	return recorded.length === 0
		? "Nothing was recorded."
		: `Nothing changed: ${names} still says what is right. There is no pull request to open.`;
}

function describe({ pull, pullIs, commit, isNew }: Proposed): string {
	const what = isNew ? `holds what was recorded, in commit ${commit.slice(0, 7)}` : "held all that was recorded already";
	return `Pull request ${pull.number} (${pull.url}) was ${pullIs === "left as it is" ? "there" : pullIs}; its branch ${what}.`;
}

/** Unlike where a gate publishes, a pull request that cannot be opened is the failure here. */
function conclude(errors: readonly unknown[]): number {
	const explained = errors.map((error) => ({ exit: announce(error), records: explainError(error).records }));
	const kinds = explained.flatMap(({ records }) => records.map(({ kind }) => kind));
	setOutput("failure-kind", kinds[0] ?? "");
	if (explained.length === 0) return exitCodes.ok;
	setFailed("trtgate golden failed");
	const least = kinds.includes("github") ? exitCodes.runner : exitCodes.ok;
	return Math.max(least, ...explained.map(({ exit }) => exit));
}

function usage(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "usage", message, details: { fix } });
}

// Opens the two folders that a run compares: given by the user as folders or git refs, or found from the event.
import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import type { Arm, ArmSource } from "../../../generated/result.ts";
import { remoteName } from "../../adapters/git/remote.ts";
import { firstLine, type Git, type GitAccess, gitIn, isRepository } from "../../adapters/git/run-git.ts";
import { describeFolder, openRef, whyAbsent } from "../../adapters/git/worktree.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import { type Config, defaultSettings } from "../../core/config/config.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { openHistory } from "../../history/adapters/history.ts";
import type { RunEvent } from "../../host/formats/github/event.ts";
import type { ArmFolder } from "../../stages/prepared.ts";
import {
	type BaseSearch,
	type FoundBase,
	findBase,
	isReview,
	nameHead,
	nothingToCompare,
	refuseForeign,
	requireChange,
} from "./find-base.ts";
import { fetchLfsFiles } from "./lfs-files.ts";

export interface ArmsRequest {
	cwd: string;
	home: string;
	outFolder: string;
	config: Config;
	configs: ConfigReader;
	base?: string;
	head?: string;
	event?: RunEvent;
	access?: GitAccess;
}

export type SideConfig =
	| { state: "read"; config: Config }
	| { state: "absent" }
	| { state: "broken"; why: string };

export interface ConfigReader {
	inFolder(folder: string): Promise<SideConfig>;
	/** @param commit in this clone. @param git runs in the config's folder. */
	atCommit(commit: string, git: Git): Promise<SideConfig>;
}

export interface OpenedArms {
	folders: ArmFolder[];
	baseConfig: SideConfig;
	/** The config whose rules apply: the target branch's for a change under review, otherwise the base's. */
	rules: SideConfig;
	noBase?: string;
	notes: string[];
	close(): Promise<void>;
}

/** @throws ConfigError git-ref if a name or the event refers to no available commit; ToolError if the base is unknown. */
export async function openArms(request: ArmsRequest, processes: Processes): Promise<OpenedArms> {
	const opening: Opening = { request, processes, notes: [], closers: [], rules: null };
	const close = async () => {
		for (const closer of opening.closers.splice(0)) await closer();
	};
	try {
		const head = await openNamed("head", request.head, opening);
		const base = await openBase(head, opening);
		const common = { notes: opening.notes, close };
		const absent = { state: "absent" } as const;
		if (typeof base === "string")
			return { folders: [head.folder], noBase: base, baseConfig: absent, rules: absent, ...common };
		const sharesFiles = base.path === head.folder.path;
		const baseConfig = sharesFiles
			? ({ state: "read", config: request.config } as const)
			: await request.configs.inFolder(base.path);
		if (baseConfig.state === "absent" && base.root === undefined) refuseForeign(base, request.config);
		return { folders: [base, head.folder], baseConfig, rules: opening.rules ?? baseConfig, ...common };
	} catch (error) {
		await close();
		throw error;
	}
}

interface Opening {
	request: ArmsRequest;
	processes: Processes;
	notes: string[];
	closers: (() => Promise<void>)[];
	rules: SideConfig | null;
}

interface Side {
	folder: ArmFolder;
	commit: string | null;
	repository: string;
}

async function openNamed(arm: Arm, name: string | undefined, opening: Opening): Promise<Side> {
	const { request, processes } = opening;
	const path = resolve(request.cwd, name ?? request.home);
	const isFolder = (await stat(path).catch(() => null))?.isDirectory() === true;
	if (name !== undefined && !isFolder) {
		const folder = await checkOut({ arm, ref: name, source: { label: name, ref: name } }, opening);
		return { folder, commit: folder.source.commit ?? null, repository: request.home };
	}
	const event = arm === "head" ? request.event : undefined;
	// Without an event, only a whole checkout is named by its commit.
	const known =
		event !== undefined || existsSync(join(path, ".git")) ? await describeFolder(path, processes) : null;
	const source: ArmSource = {
		label: relative(request.cwd, path) || basename(path),
		...(event && known && nameHead(event, known.commit)),
	};
	if (known?.dirty === false) source.commit = known.commit;
	else if (known && event)
		source.found = `The workspace as it is: ${known.commit.slice(0, 7)} with changes by earlier steps.`;
	const folder: ArmFolder = { arm, path, source };
	if (arm === "base") folder.whyAbsent = (file) => whyAbsent(file, path, null);
	return { folder, commit: known?.commit ?? null, repository: path };
}

async function openBase(head: Side, opening: Opening): Promise<ArmFolder | string> {
	const { base, event, config } = opening.request;
	if (base !== undefined) {
		const side = await openNamed("base", base, opening);
		if (config.base === undefined && isReview(event) && isSame(side, head))
			throw nothingToCompare(
				`the base ${base} is the checked-out commit itself`,
				"Name another base with the input `base`, or leave it out: the event names it.",
			);
		return side.folder;
	}
	const { from, ref } = config.baseline;
	const isByEvent = from === "base-ref";
	if (config.base !== undefined && isByEvent && !isReview(event) && event?.kind !== "tag") {
		const source = { ...head.folder.source, found: "The same files as the head's." };
		return { ...head.folder, arm: "base", source };
	}
	if (event === undefined && isByEvent) return "no base was given";
	// At a terminal, uncommitted changes may be compared with their own commit.
	if (event === undefined && ref !== undefined) {
		const source = { label: ref, ref, found: `baseline.ref of the config pins ${ref}.` };
		return checkOut({ arm: "base", ref, source }, opening);
	}
	const commit = head.commit ?? (await describeFolder(head.repository, opening.processes))?.commit ?? null;
	if (commit === null) return whyNoCommit(head.repository, opening);
	return openFoundBase(head, commit, opening);
}

function isSame(base: Side, head: Side) {
	const { commit } = base.folder.source;
	return commit !== undefined && commit === head.folder.source.commit && base.repository === head.repository;
}

/** @returns why there is no base, in a repository without commits. @throws ConfigError, ToolError if git cannot read the workspace. */
async function whyNoCommit(repository: string, { processes, request }: Opening) {
	const place = repository === request.home ? "the workspace" : `the head ${repository}`;
	const fix =
		"Install git in the job's image, or in a step before actions/checkout, which needs it for the history: `apt-get install -y git git-lfs`. Or name a folder with `--base` or the input `base`.";
	try {
		if (await isRepository(gitIn(repository, processes)))
			return `${place} has no commit yet, so there is no earlier one`;
	} catch (error) {
		if (!(error instanceof ToolError) || error.code !== "tool-missing") throw error;
		throw new ToolError({
			code: "tool-missing",
			message: "The base of this run is a commit, and git is not installed to find it.",
			fix,
		});
	}
	const message = `The base of this run is a commit, and ${place} is not a git repository, so it cannot be found.`;
	throw new ConfigError({ code: "git-ref", message, fix });
}

async function openFoundBase(head: Side, commit: string, opening: Opening) {
	const { event, access, config } = opening.request;
	const git = gitIn(head.repository, opening.processes, access);
	const history = await openHistory(git, { mayFetch: event !== undefined });
	// The target branch's config, not the change, chooses the base.
	const baseline = isReview(event) ? ({ from: "base-ref" } as const) : config.baseline;
	const search = { event, baseline, head: commit, history };
	let base = await findBase(search);
	if (base.state === "none") {
		if (event?.kind !== "pull-request" && event?.kind !== "merge-group") return base.why;
		throw nothingToCompare(
			base.why,
			"Check out the merge commit with actions/checkout and `fetch-depth: 0`.",
		);
	}
	if (isReview(event)) {
		const rules = await readRules(base, git, opening);
		opening.rules = rules;
		if (event.kind === "pull-request") await requireChange(event, commit, history);
		const own = rules.state === "absent" ? config : defaultSettings;
		const ruling = rules.state === "read" ? rules.config : own;
		base = await otherBase(base, { ...search, event, baseline: ruling.baseline }, opening.notes);
	}
	const { state: _, commit: ref, tip: __, ...source } = base;
	return checkOut({ arm: "base", ref, source, repository: head.repository }, opening);
}

/** A change must not choose older rules by leaving the target branch at an older commit. */
async function readRules(
	{ commit, tip = commit, label }: Extract<FoundBase, { state: "found" }>,
	git: Git,
	opening: Opening,
) {
	const { configs } = opening.request;
	const atBase = await configs.atCommit(commit, git);
	await refuseHiddenHome(commit, atBase, opening);
	const atTip = tip === commit ? atBase : await configs.atCommit(tip, git);
	if (atTip.state !== "read" || JSON.stringify(atTip) === JSON.stringify(atBase)) return atBase;
	opening.notes.push(
		`The rules are those of ${label} at ${tip.slice(0, 7)}, whose config has changed since this change left it: update the branch if it is asked about rules or coverage that it did not touch.`,
	);
	return atTip;
}

/** A change could hide the base's rules: git follows a link to the config's folder, and reads a submodule's own history. */
async function refuseHiddenHome(commit: string, atBase: SideConfig, { request, processes }: Opening) {
	const { cwd, home, config } = request;
	const refused = (where: string) =>
		new ConfigError({
			code: "config-missing",
			message: `${config.path} lies ${where}, where the base's is not.`,
			fix: "Let the config's folder be a folder of this repository, not a link or a submodule.",
		});
	const outer = await gitIn(home, processes)(["rev-parse", "--show-superproject-working-tree"]);
	if (firstLine(outer) !== "") throw refused("in a submodule");
	const [realCwd, realHome] = await Promise.all([realpath(cwd), realpath(home)]);
	const folder = relative(cwd, home);
	if (realHome === resolve(realCwd, folder)) return;
	const type = await gitIn(cwd, processes)(["cat-file", "-t", `${commit}:./${folder}`]);
	if (atBase.state === "absent" || firstLine(type) === "tree") throw refused(`behind a link to ${realHome}`);
}

/** The base that the config names instead of `target`; it must be part of the target branch. */
async function otherBase(
	target: Extract<FoundBase, { state: "found" }>,
	search: BaseSearch & { event: RunEvent },
	notes: string[],
) {
	const { baseline, event, history } = search;
	if (baseline.from === "base-ref") return target;
	const other = await findBase(search);
	if (other.state === "none") {
		notes.push(`baseline.from is ${baseline.from}, but ${other.why}: the base is ${target.label} instead.`);
		return target;
	}
	const tips = [target.commit, "baseRef" in event ? await history.branchTip(event.baseRef) : null];
	for (const tip of tips)
		if (tip !== null && (tip === other.commit || (await history.isAncestor(other.commit, tip)))) return other;
	if (event.kind === "push") return other;
	const name = `${other.label} (${other.commit.slice(0, 7)})`;
	throw new ConfigError({
		code: "git-ref",
		message: `The base ${name} is not part of ${target.label}, the branch that this change goes to: a change must not choose its own base.`,
		fix: "Name an ancestor of the target branch in baseline, or use `baseline: { from: base-ref }`.",
	});
}

async function checkOut(
	{ arm, ref, source, repository }: { arm: Arm; ref: string; source: ArmSource; repository?: string },
	opening: Opening,
): Promise<ArmFolder> {
	const { request, processes } = opening;
	const { access, event, outFolder, home } = request;
	const git = gitIn(repository ?? home, processes, access);
	const fetched = event === undefined ? null : await (await openHistory(git)).find(ref);
	const tree = await openRef({
		repository: repository ?? home,
		ref: fetched ?? ref,
		folder: join(outFolder, "worktrees", arm),
		processes,
		access,
	});
	opening.closers.push(() => tree.remove());
	const { root, path, commit } = tree;
	const own = arm === "head" ? null : await request.configs.inFolder(path);
	const config = own?.state === "read" ? own.config : request.config;
	const isForeign = event?.kind === "workflow-run" || (event?.kind === "pull-request" && event.isFork);
	const isUntrusted = arm === "head" && isForeign;
	const lfs = { arm, root, path, config, isUntrusted, remote: await remoteName(git) };
	const lfsProblem = (await fetchLfsFiles(lfs, gitIn(root, processes, access))) ?? undefined;
	if (lfsProblem !== undefined) opening.notes.push(lfsProblem.reason);
	return {
		...{ arm, path, root },
		source: { ...source, commit },
		whyAbsent: (file) => whyAbsent(file, path, gitIn(path, processes)),
		lfsProblem,
	};
}

// Keeps the record of a run in the configured history, and judges the run by it.

import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { HistoryRow } from "../../../generated/history.ts";
import type { Result } from "../../../generated/result.ts";
import { type GitAccess, gitIn, isRepository } from "../../adapters/git/run-git.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import { ownProcesses } from "../../app/own-processes.ts";
import type { Config } from "../../core/config/config.ts";
import { ConfigError, recordError, usageError } from "../../core/errors.ts";
import { outcomeOf } from "../../core/outcome.ts";
import { readWorkflowRun } from "../../host/adapters/github/env.ts";
import { runUrl } from "../../host/app/publish/publish-run.ts";
import type { RunEvent } from "../../host/formats/github/event.ts";
import type { HistoryStore } from "../../ports/history.ts";
import type { Files } from "../../ports/world.ts";
import { historyBranch } from "../adapters/history-branch.ts";
import { historyFolder } from "../adapters/history-folder.ts";
import { dueForFreshPairs, findAlarms } from "../core/alarms.ts";
import { badgeOf } from "../core/badge.ts";
import { compact, fileOf, type HistoryFile, readHistory } from "../core/files.ts";
import { type RecordedFacts, type RunIdentity, recordOf } from "../core/from-result.ts";
import { answer, judgeTrend } from "../core/judge-trend.ts";
import { kindOf } from "../core/points.ts";
import { pinToLink, readSeries, type Series } from "../core/series.ts";

interface Keeping {
	store: HistoryStore;
	outFolder: string;
	files: Files;
	gpuUuid: string | null;
	event: RunEvent | undefined;
}

/** Pull requests write no history: their code is not merged. */
export function isKept({ history }: Config, event: RunEvent | undefined): boolean {
	if (history === undefined || event?.kind === "pull-request" || event?.kind === "workflow-run") return false;
	return history.when === "always" || event?.kind === "schedule" || event?.kind === "dispatch";
}

/** A tag or another branch has another state. An unknown event is taken for a nightly job of one's own. */
export function isOfMain(event: RunEvent | undefined): boolean {
	if (event === undefined) return true;
	if (event.kind !== "push" && event.kind !== "schedule" && event.kind !== "dispatch") return false;
	return event.defaultBranch === undefined || event.ref === event.defaultBranch;
}

export type HistoryWatch = ReturnType<typeof historyWatch>;

const maxSkipped = 5;

export function historyWatch({ store, outFolder, files, gpuUuid, event }: Keeping) {
	const identity = identityOf(gpuUuid);
	let read: Promise<readonly HistoryFile[]> | undefined;
	const known = () => {
		read ??= store.read();
		return read;
	};
	const seriesWith = async (added: HistoryFile | null) => {
		// A store that is read late has the added record already.
		const others = (await known()).filter(({ path }) => path !== added?.path);
		const { records, skipped } = readHistory([...others, ...(added === null ? [] : [added])]);
		return { series: readSeries(records.map(({ record }) => record)), skipped };
	};
	const fileFor = (result: RecordedFacts, rows: readonly HistoryRow[]) => {
		const record = recordOf(result, identity, sha256);
		return record && fileOf({ ...record, rows: [...record.rows, ...rows] }, sha256);
	};
	const record = async (result: Result, added: HistoryFile) => {
		// From here it can be imported if the store refuses it.
		const path = join(outFolder, "history", added.path);
		await files.makeFolder(dirname(path));
		await files.writeText(path, added.text);
		await store.add([added]);
		const { series, skipped } = await seriesWith(added);
		const findings = findAlarms(series);
		const gates = [...result.gates, ...judgeTrend(findings, series)];
		const judged = { ...result, ...outcomeOf({ ...result, gates }), gates };
		// A matrix has several outcomes.
		const isBadged = isOfMain(event) && result.partial === undefined && isNewest(result, series);
		const notes = [
			...result.notes,
			`Trend: ${answer(findings, series)}.`,
			`Kept a record in the history (${store.name}).`,
			...skipped.slice(0, maxSkipped),
			...(isBadged ? await addBadge(judged, store) : []),
			...(await compactWhenDue(store, await known(), result.startedAt.slice(0, 7))),
		];
		return { ...judged, notes };
	};
	return {
		suspects: (result: RecordedFacts) =>
			seriesWith(fileFor(result, [])).then(
				({ series }) => dueForFreshPairs(series),
				() => [],
			),
		/** Commit of the previous pin on such a machine, if the pins are not linked yet. */
		async oldPin(result: Result) {
			const own = recordOf(result, identity, sha256);
			if (own === null) return null;
			const { series } = await seriesWith(null);
			return pinToLink(series, { kind: kindOf(own), pin: own.reference?.commit });
		},
		/** If the record cannot be kept, the run is an error. */
		async keep(result: Result, rows: readonly HistoryRow[]) {
			const added = fileFor(result, rows);
			if (added === null) {
				const note = "Nothing was timed, so the history has no record of this run.";
				return { ...result, notes: [...result.notes, note] };
			}
			return record(result, added).catch((error: unknown) => {
				const errors = [...result.errors, recordError(error)];
				return { ...result, ...outcomeOf({ ...result, errors }), errors };
			});
		},
	};
}

/** A run that began earlier may end later. */
function isNewest({ startedAt }: Result, { runs }: Series) {
	return runs.every(({ at, commit }) => commit === undefined || at <= startedAt);
}

/** The record counts, with or without it. */
function addBadge(result: Result, store: HistoryStore) {
	const failed = (error: unknown) => [`The badge was not updated: ${recordError(error).message}`];
	return store.add([badgeOf(result)]).then(() => [], failed);
}

/** Past months are compacted once this many of their records wait. */
const dueRecords = 60;

async function compactWhenDue(store: HistoryStore, files: readonly HistoryFile[], month: string) {
	if ((compact(files, month)?.remove.length ?? 0) < dueRecords) return [];
	try {
		const isDone = await store.compact((newest) => compact(newest, month));
		return isDone ? [`Compacted the months before ${month}.`] : [];
	} catch (error) {
		return [`The months before ${month} were not compacted: ${recordError(error).message}`];
	}
}

function identityOf(gpuUuid: string | null = null): RunIdentity {
	const run = readWorkflowRun();
	const machine = { host: hostname(), ...(gpuUuid === null ? {} : { gpuUuid }) };
	return run === null
		? { run: "local", machine }
		: { run: `${run.runId}-${run.runAttempt}`, url: runUrl(run), machine };
}

interface SideRun {
	base: string;
	head: string;
	out: string;
	adapt(config: Config): Config;
}

export interface Night {
	config: Config;
	outFolder: string;
	watching: HistoryWatch;
	run(side: SideRun): Promise<Result | null>;
}

export async function concludeNight(ran: Result, night: Night): Promise<Result> {
	return night.watching.keep(ran, await linkPins(ran, night));
}

/** A link's error stays in the chain, so it takes more pairs than a night. */
const linkTimes = 3;

async function linkPins(ran: Result, { config, watching, outFolder, run }: Night): Promise<HistoryRow[]> {
	const pin = ran.arms.base?.commit;
	if (config.baseline.from !== "pin" || pin === undefined || ran.partial !== undefined) return [];
	const old = await watching.oldPin(ran).catch(() => null);
	if (old === null) return [];
	// Only latency, on one TensorRT, without a record of its own.
	const adapt = ({ base: _, ...own }: Config): Config => ({
		...own,
		history: undefined,
		profile: { nsys: "never", ncu: "never" },
		measure: { ...own.measure, looks: [linkTimes * Math.max(...own.measure.looks)] },
	});
	const result = await run({ base: old, head: pin, out: join(outFolder, "link"), adapt });
	const record = result && recordOf(result, identityOf(), sha256);
	// Worst sizes and P99s scatter too much to link a pin by.
	return (record?.rows ?? []).flatMap(({ series, ratio, unrepeated, base, head }) =>
		ratio === undefined || unrepeated ? [] : [{ series, kind: "link", ratio, base, head }],
	);
}

interface HistoryPlace {
	folder?: string;
	branch?: string;
}

export function openStore(
	{ folder, branch }: HistoryPlace,
	world: { cwd: string; processes?: Processes; access?: GitAccess },
): HistoryStore {
	if (folder !== undefined && branch === undefined) return historyFolder(resolve(world.cwd, folder));
	if (branch !== undefined && folder === undefined) {
		const processes = world.processes ?? ownProcesses();
		return historyBranch({ repository: world.cwd, branch, processes, access: world.access });
	}
	throw usageError(
		folder === undefined ? "Name the history." : "A history is in a folder or on a branch, not both.",
		"Give --folder DIR, or --branch trtgate-history.",
	);
}

/** @throws ConfigError history-denied if there is no clone to push a branch from. */
export async function openRunStore(
	place: HistoryPlace,
	world: { cwd: string; processes: Processes; access: GitAccess | undefined },
): Promise<HistoryStore> {
	const hasClone = () => isRepository(gitIn(world.cwd, world.processes)).catch(() => false);
	if (place.branch === undefined || (await hasClone())) return openStore(place, world);
	throw new ConfigError({
		code: "history-denied",
		message: `The history cannot use the branch ${place.branch}: ${world.cwd} is not a clone, or git is not installed.`,
		fix: "Check out the repository with actions/checkout in a job that has git, or keep the history in a folder.",
	});
}

export function sha256(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}

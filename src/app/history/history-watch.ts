// Keeps the record of a run in the history that its config names, and judges the run by it. A record that is not kept makes the run an error.
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { HistoryRow } from "../../../generated/history.ts";
import type { Result } from "../../../generated/result.ts";
import { readWorkflowRun } from "../../adapters/github/env.ts";
import type { Config } from "../../core/config/config.ts";
import { recordError } from "../../core/errors.ts";
import { type Alarm, dueForFreshPairs, type Findings, findAlarms } from "../../core/history/alarms.ts";
import { type Doubt, doubtOf } from "../../core/history/bisect.ts";
import { compact, fileOf, type HistoryFile, readHistory } from "../../core/history/files.ts";
import { type RecordedFacts, type RunIdentity, recordsOf } from "../../core/history/from-result.ts";
import { judgeTrend } from "../../core/history/judge-trend.ts";
import { kindOf } from "../../core/history/points.ts";
import { pinToLink, readSeries, type Series } from "../../core/history/series.ts";
import { outcomeOf } from "../../core/outcome.ts";
import { answer } from "../../core/report/html/trend/answer.ts";
import { renderAlarmPicture } from "../../core/report/html/trend/badge.ts";
import { counted } from "../../core/text/labels.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import type { HistoryStore } from "../../ports/history.ts";
import type { Files } from "../../ports/world.ts";
import { runUrl } from "../publish/publish-run.ts";
import { sha256 } from "./open-store.ts";

export interface Keeping {
	store: HistoryStore;
	/** Absent: the history is in a folder. */
	branch?: string | undefined;
	outFolder: string;
	files: Files;
	gpuUuid: string | null;
}

/** Pull requests never write: their numbers are of code that is not merged. */
export function isKept({ history }: Pick<Config, "history">, event: RunEvent | undefined): boolean {
	if (history === undefined || event?.kind === "pull-request" || event?.kind === "workflow-run") return false;
	return history.when === "always" || event?.kind === "schedule" || event?.kind === "dispatch";
}

export interface HistoryWatch {
	/** Ids of the workloads that stand out, which need fresh pairs. */
	suspects(recorded: RecordedFacts): Promise<readonly string[]>;
	/** Commit of the pin before this run's on such a machine, where they are not linked yet, or too uncertainly. */
	oldPin(result: Result): Promise<string | null>;
	/** Adds the record with these rows beside its own, and the gates of what the history shows with it. */
	keep(result: Result, rows?: readonly HistoryRow[]): Promise<Result>;
	/** A change that the kept run decided, whose commit is not known yet. */
	doubt(): Doubt | null;
}

const maxSkipped = 5;

export function historyWatch({ store, branch, outFolder, files, gpuUuid }: Keeping): HistoryWatch {
	const identity = identityOf(gpuUuid);
	let doubt: Doubt | null = null;
	let read: Promise<readonly HistoryFile[]> | undefined;
	const known = (): Promise<readonly HistoryFile[]> => {
		read ??= store.read();
		return read;
	};
	const seriesWith = async (added: readonly HistoryFile[]) => {
		const { records, skipped } = readHistory([...(await known()), ...added]);
		return { series: readSeries(records.map(({ record }) => record)), skipped };
	};
	const filesOf = (result: RecordedFacts, rows: readonly HistoryRow[]): HistoryFile[] =>
		recordsOf(result, identity, sha256).map((record) =>
			fileOf({ ...record, rows: [...record.rows, ...rows] }, sha256),
		);
	const record = async (result: Result, added: readonly HistoryFile[]): Promise<Result> => {
		// First here, so that a record whose writing fails can be imported.
		for (const { path, text } of added) {
			await files.makeFolder(join(outFolder, "history", dirname(path)));
			await files.writeText(join(outFolder, "history", path), text);
		}
		await store.add(added);
		const { series, skipped } = await seriesWith(added);
		const findings = findAlarms(series);
		doubt = doubtOf(findings, series);
		// Without a picture, the text has its line of blocks.
		const pictures =
			branch === undefined
				? undefined
				: await drawAlarms(findings, series, store, branch).catch(() => undefined);
		const gates = [...result.gates, ...judgeTrend(findings, series, pictures)];
		const notes = [
			...result.notes,
			`Trend: ${answer(findings, series)}.`,
			`Kept ${counted(added.length, "record")} in the history (${store.name}).`,
			...skipped.slice(0, maxSkipped),
			...(await compactWhenDue(store, await known(), result.startedAt.slice(0, 7))),
		];
		return { ...result, ...outcomeOf({ ...result, gates }), gates, notes };
	};
	return {
		doubt: () => doubt,
		suspects: (result) =>
			seriesWith(filesOf(result, [])).then(
				({ series }) => dueForFreshPairs(series),
				// The same fault makes the run an error when its record is to be kept.
				() => [],
			),
		async oldPin(result) {
			const [own] = recordsOf(result, identity, sha256);
			if (own === undefined) return null;
			const { series } = await seriesWith([]);
			return pinToLink(series, { kind: kindOf(own), pin: own.reference?.commit });
		},
		async keep(result, rows = []) {
			const added = filesOf(result, rows);
			if (added.length === 0) {
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

const maxPictures = 20;

/** Puts a picture of each open alarm on the branch, where its issue can show it. */
async function drawAlarms(
	findings: Findings,
	series: Series,
	store: HistoryStore,
	branch: string,
): Promise<ReadonlyMap<Alarm, string> | undefined> {
	const run = readWorkflowRun();
	const open = findings.alarms.filter(({ isOpen }) => isOpen).slice(0, maxPictures);
	if (run === null || open.length === 0) return undefined;
	const drawn = open.map((alarm) => {
		const { chain } = alarm.shifts[0] ?? {};
		const name = sha256(`${chain?.series} ${chain?.metric} ${chain?.name}`).slice(0, 12);
		return { alarm, path: `pictures/${name}.svg`, text: renderAlarmPicture(alarm, findings, series) };
	});
	await store.add(drawn.map(({ path, text }) => ({ path, text })));
	const top = `${run.serverUrl}/${run.repository}/blob/${branch}`;
	return new Map(drawn.map(({ alarm, path }) => [alarm, `${top}/${path}?raw=true`]));
}

/** Past months are put together where so many records of them wait. */
const dueRecords = 60;

/** The record is kept already, so a store that refuses this is only noted. */
async function compactWhenDue(
	store: HistoryStore,
	files: readonly HistoryFile[],
	month: string,
): Promise<string[]> {
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

/** The rows of a run that measured two pins, or one against itself. */
export function pinRows(result: Result, kind: "link" | "control"): HistoryRow[] {
	return recordsOf(result, identityOf(), sha256).flatMap(({ rows }) =>
		rows.flatMap(({ series, ratio, base, head }) =>
			ratio === undefined ? [] : [{ series, kind, ratio, base, head }],
		),
	);
}

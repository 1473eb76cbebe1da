// `trtgate accept`: records in trtgate.yml that this change may be slower or larger.
import { relative, resolve } from "node:path";
import type { AcceptFile } from "../../../generated/config.ts";
import type { GateResult, Result } from "../../../generated/result.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { gatedRows } from "../../core/compare/sweep.ts";
import { editAccepted } from "../../core/config/edit-file.ts";
import { acceptableNames } from "../../core/config/gate-records.ts";
import { loadConfig } from "../../core/config/parse.ts";
import { usageError } from "../../core/errors.ts";
import { buildOf, changeOf } from "../../core/gates/change.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { exitCodes } from "../exit.ts";
import { gitName } from "../own-processes.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments, readArgument } from "./arguments.ts";
import { readResult } from "./read-result.ts";
import { acceptChangeTable } from "./tables.ts";

export async function acceptChange(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, acceptChangeTable);
	const prunes = args.flag("prune");
	const reason = args.text("reason")?.trim() ?? "";
	if (!prunes && reason === "")
		throw usageError("accept needs a reason.", 'Add --reason "why this change is worth it".');
	const { result, path: file } = await readResult(args.positionals[0] ?? "", terminal.cwd);
	const path = resolve(terminal.cwd, args.text("config"));
	const { text } = await readArgument(path, terminal.cwd, inputKinds.config);
	const by = args.text("by") ?? (await gitName(terminal.cwd));
	const added = prunes ? [] : acceptedBy(result, { reason, by: by ?? undefined });
	if (!prunes && added.length === 0) {
		const fix = `Give the folder of a run that failed; only ${acceptableNames.join(", ")} can be accepted.`;
		throw usageError(`${file} has no failed figure that can be accepted.`, fix);
	}
	const isReplaced = ({ engine, figure }: Partial<AcceptFile>) =>
		added.some((one) => one.engine === engine && one.figure === figure);
	const edited = editAccepted(text, added, (entry) => isCurrent(entry, result) && !isReplaced(entry));
	const shown = relative(terminal.cwd, path);
	const loaded = loadConfig(edited, { path: shown });
	if (loaded.state === "invalid") throw new AggregateError(loaded.errors, `${shown} has errors`);
	if (edited !== text) await fileStore().writeText(path, edited);
	const lines = added.map(
		(one) =>
			`${one.engine}: ${one.figure} may grow by at most ${one["at-most"]}, for the engine ${one.recipe} only\n`,
	);
	terminal.out(edited === text ? `${shown} has no stale entries.\n` : `wrote ${shown}\n${lines.join("")}`);
	return exitCodes.ok;
}

function acceptedBy(result: Result, said: Pick<AcceptFile, "reason" | "by">) {
	const entries = new Map<string, AcceptFile>();
	for (const gate of result.gates) {
		const figure = acceptableNames.find((one) => one === gate.gate);
		const engine = `${gate.model}/${gate.engine}`;
		const recipe = buildOf(result.builds, engine, "head")?.recipeHash;
		const share = mostOf(gate, result);
		if (gate.status !== "fail" || figure === undefined || recipe === undefined || share === null) continue;
		const key = `${engine} ${figure}`;
		const most = Math.max(share, Number.parseFloat(String(entries.get(key)?.["at-most"] ?? "0")) / 100);
		entries.set(key, {
			engine,
			figure,
			"at-most": `${(Math.ceil(most * 1000 - 1e-9) / 10).toFixed(1)}%`,
			recipe,
			...said,
		});
	}
	return [...entries.values()];
}

/** The upper end of the interval, so that the next run passes. */
function mostOf(gate: GateResult, result: Result) {
	const rows = gatedRows(result);
	const change = changeOf(gate, { builds: result.builds, rows });
	const row = rows.find(
		({ model, engine, workload }) =>
			model === gate.model && engine === gate.engine && workload === gate.workload,
	);
	const interval = gate.gate === "latency" || gate.gate === "p99" ? row?.[gate.gate].interval : undefined;
	return change === null ? null : Math.max(change, interval?.[1] ?? 0);
}

/** Unknown engines may be another job's. */
function isCurrent({ engine = "", recipe }: Partial<AcceptFile>, { builds }: Result) {
	const head = buildOf(builds, engine, "head")?.recipeHash;
	return head === undefined || (head === recipe && buildOf(builds, engine, "base")?.recipeHash !== recipe);
}

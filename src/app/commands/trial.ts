// What `tune` and `try` do with a model that has no golden and no config of its own.
import type { Result } from "../../../generated/result.ts";
import { systemClock } from "../../adapters/clock.ts";
import { defaultMeasure, defaultSettings } from "../../core/config/config.ts";
import { recordGolden } from "../../golden/app/record.ts";
import { parseRecordOptions } from "../../golden/app/record-options.ts";
import { compose } from "../compose.ts";
import { explainError } from "../exit.ts";
import { type GateOptions, gate } from "../gate.ts";
import { progressFor, stopOnSignals, type Terminal } from "../terminal.ts";

export async function readBackend(
	{ device, trtexec }: { device?: string; trtexec?: string },
	terminal: Terminal,
): Promise<Result["backend"]> {
	const config = { ...defaultSettings, measure: defaultMeasure, device };
	const progress = progressFor(terminal, { quiet: true });
	const { ports, processes } = compose(config, { ...terminal, progress, trtexec });
	return ports.backend.facts().finally(() => processes.killAll());
}

/** False, with a note, if none can be recorded. Its sensitivity is not tested: its inputs are generated. */
export async function recordTrialGolden(
	argv: readonly string[],
	terminal: Terminal,
	leftMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
	const limit = `--time-limit=${Math.round(Math.min(30_000, Math.max(1, leftMs / 2)))}ms`;
	const limits = ["--cases=4", limit, "--notice=fp32=0,fp16=0", "--quiet"];
	try {
		const options = await parseRecordOptions([...argv, ...limits], terminal);
		await recordGolden({ ...options, isTrial: true }, terminal);
		return true;
	} catch (error) {
		const { text, records } = explainError(error);
		if (records.some(({ kind, code }) => kind === "internal" || code === "interrupted")) throw error;
		terminal.err(`note: Without a golden, errors stay unknown. ${text}`);
		return false;
	}
}

export async function runTrial(
	options: Omit<GateOptions, "cwd" | "environment" | "onStart">,
	endMs: number,
	{ cwd, environment }: Terminal,
): Promise<Result> {
	const ends: (() => void)[] = [];
	const { result } = await gate({
		...options,
		cwd,
		environment,
		onStart(stop) {
			const leftMs = Math.max(0, endMs - systemClock().now());
			const timer = setTimeout(() => stop("stopped at --time-limit"), leftMs);
			ends.push(stopOnSignals(stop), () => clearTimeout(timer));
		},
	}).finally(() => {
		for (const end of ends) end();
	});
	return result;
}

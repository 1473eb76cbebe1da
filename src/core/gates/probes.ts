// The gate of one probe: an engine that disagrees with itself where its base does not.
import type { Config, Gates } from "../config/config.ts";
import { locate } from "../config/source.ts";
import type { GateResult, ProbeResult } from "../schema/result.ts";

/** Nothing where the probe does not apply, where the base does just so, or where the gate is off. */
export function judgeProbe(result: ProbeResult, config: Config, options: { pointer: string; gates: Gates }): GateResult[] {
	const { gates, pointer } = options;
	if (gates.probes === "off" || result.state === "skipped" || result.state === "known") return [];
	const location = locate(config, gates.pointers["probes"] ?? pointer);
	return [
		{
			gate: "probe",
			model: result.model,
			engine: result.engine,
			case: result.probe,
			status: result.state === "agrees" ? "pass" : gates.probes,
			message: result.message,
			...(location ? { location } : {}),
		},
	];
}

// The gate of models whose inputs or outputs differ between base and head.
import type { Config, Gates } from "../config/config.ts";
import { placeOf } from "../config/source.ts";
import type { GateResult, InterfaceChange } from "../schema/result.ts";
import { interfaceText } from "../text/labels.ts";

export function judgeInterface(change: InterfaceChange, config: Config, options: { pointer: string; gates: Gates }): GateResult[] {
	const { gates, pointer } = options;
	if (gates.interface === "off") return [];
	const { model, engine, rows } = change;
	const more = rows.length > maxNamed ? ` And ${rows.length - maxNamed} more.` : "";
	return [
		{
			gate: "interface",
			model,
			...(engine === undefined ? {} : { engine }),
			status: gates.interface,
			message: `The interface changed: ${rows.slice(0, maxNamed).map(interfaceText).join("; ")}.${more}`,
			...placeOf(config, gates.pointers["interface"] ?? pointer),
		},
	];
}

const maxNamed = 4;

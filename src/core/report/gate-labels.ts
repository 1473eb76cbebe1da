// What reports call each gate.

import type { BackendFacts, GateName } from "../../../generated/result.ts";
import { resultLabels, speedNames } from "../config/gate-records.ts";
import { withCaveat } from "../text/labels.ts";

const gateLabels: Readonly<Record<GateName, string>> = {
	...resultLabels,
	preflight: "preflight",
	build: "build",
	golden: "golden",
	run: "timed runs",
	accept: "accepted change",
	probe: "probe, no reference",
	trend: "trend",
};

const speedGates: ReadonlySet<string> = new Set([...speedNames, "run"]);

export function gateLabel(gate: GateName, backend: BackendFacts): string {
	return speedGates.has(gate) ? withCaveat(gateLabels[gate], backend) : gateLabels[gate];
}

// The words of probes: questions to an engine that need no reference.
import type { ProbeName, ProbeResult, ProbeState, Result } from "../schema/result.ts";
import { counted, type Tone } from "../text/labels.ts";
import { formatValue } from "../text/units.ts";

/** What has to hold. */
export const probeLabels: Readonly<Record<ProbeName, string>> = {
	determinism: "two runs agree",
	"duplicate-rows": "equal rows agree",
	neighbours: "a row does not depend on its neighbours",
	"batch-size": "batch sizes agree",
	"profile-ends": "the profile's ends agree",
	padding: "padding does not leak",
};

export const probeStateLabels: Readonly<Record<ProbeState, string>> = {
	agrees: "agrees",
	differs: "differs",
	known: "known on the base",
	skipped: "does not apply",
};

/** Of a difference that no gate was asked about. */
export const probeTones: Readonly<Record<ProbeState, Tone>> = { agrees: "ok", differs: "warn", known: "plain", skipped: "plain" };

const order: readonly ProbeState[] = ["differs", "known", "agrees", "skipped"];

/** What asks for attention first. */
export function sortedProbes(probes: readonly ProbeResult[]): ProbeResult[] {
	return [...probes].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
}

/** `Probes (no reference): 10 of 11 hold, 3 do not apply`. */
export function probesTitle(result: Result): string {
	const probes = result.probes ?? [];
	const skipped = probes.filter(({ state }) => state === "skipped").length;
	const holding = probes.filter(({ state }) => state === "agrees").length;
	const asked = probes.length - skipped;
	const told = asked === 0 ? "none applies" : `${holding} of ${counted(asked, "answer")} ${asked === 1 ? "agrees" : "agree"}`;
	return `Probes (no reference): ${told}${asked === 0 || skipped === 0 ? "" : `, ${skipped} not asked`}`;
}

export function apartText({ got }: ProbeResult): string {
	return got === null ? "–" : formatValue(got);
}

export function allowedApartText({ allowed }: ProbeResult): string {
	return allowed === null ? "–" : `≤ ${formatValue(allowed)}`;
}

export function baseApartText({ base }: ProbeResult): string {
	return base === undefined ? "–" : base === null ? "no answer" : formatValue(base);
}

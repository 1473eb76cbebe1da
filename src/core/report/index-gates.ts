// Finds the gates that judged one subject.

import type { GateName, GateResult, GateStatus, Result } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { worstOutcome } from "../precedence.ts";
import type { Highlight, HighlightSeverity } from "./highlight.ts";

interface GateSubject {
	model: string;
	engine?: string;
	workload?: string;
	/** The same workload in two parts of a merged result is two subjects. */
	part?: string | undefined;
}

/** A key that no name can forge. */
export function subjectKey({ model, engine, workload, part }: GateSubject): string {
	return JSON.stringify([model, engine ?? null, workload ?? null, part ?? null]);
}

export function engineKey({ model, engine, part }: { model: string; engine: string; part?: string }): string {
	return subjectKey({ model, engine, part });
}

export function gateKey(gate: GateName, subject: GateSubject): string {
	return gate + subjectKey(subject);
}

export class GateIndex {
	readonly #gates: ReadonlyMap<string, readonly GateResult[]>;

	constructor({ gates }: Result) {
		this.#gates = groupBy(gates, (gate) => gateKey(gate.gate, gate));
	}

	of(gate: GateName, subject: GateSubject): readonly GateResult[] {
		return this.#gates.get(gateKey(gate, subject)) ?? [];
	}

	status(gate: GateName, subject: GateSubject, cases?: ReadonlySet<string>): GateStatus | undefined {
		const own = this.of(gate, subject).filter((one) => cases?.has(one.case ?? "") ?? true);
		return own.length === 0 ? undefined : worstOutcome(own.map(({ status }) => status));
	}

	/** How a highlight explains a gate; `otherwise` is its severity if the gate passes or did not judge. */
	explain(
		gate: GateName,
		subject: GateSubject,
		otherwise: HighlightSeverity,
		cases?: ReadonlySet<string>,
	): Pick<Highlight, "severity" | "explains"> {
		const status = this.status(gate, subject, cases) ?? "pass";
		return { severity: status === "pass" ? otherwise : status, explains: [gateKey(gate, subject)] };
	}
}

export type FailingGate = GateResult & { status: Exclude<GateStatus, "pass"> };

export function failingGates(result: Result): FailingGate[] {
	return result.gates.filter((gate): gate is FailingGate => gate.status !== "pass");
}

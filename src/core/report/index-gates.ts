import type { GateName, GateResult, GateStatus, Result } from "../../../generated/result.ts";
import { worstOutcome } from "../precedence.ts";

export interface GateSubject {
	model: string;
	engine?: string;
	workload?: string;
	/** The same workload in two parts of a merged result is two subjects. */
	part?: string | undefined;
}

export interface GateIndex {
	/** The worst; undefined if it was not judged. */
	status(gate: GateName, subject: GateSubject): GateStatus | undefined;
	statusOfCases(gate: GateName, subject: GateSubject, cases: readonly string[]): GateStatus | undefined;
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

function caseKey(key: string, name: string): string {
	return `${key} ${JSON.stringify(name)}`;
}

export function indexGates(result: Result): GateIndex {
	const found = new Map<string, GateStatus>();
	for (const gate of result.gates) {
		const key = gateKey(gate.gate, gate);
		for (const each of gate.case === undefined ? [key] : [key, caseKey(key, gate.case)]) {
			const known = found.get(each);
			found.set(each, known === undefined ? gate.status : worstOutcome([known, gate.status]));
		}
	}
	return {
		status: (gate, subject) => found.get(gateKey(gate, subject)),
		statusOfCases(gate, subject, cases) {
			const key = gateKey(gate, subject);
			const statuses = cases.flatMap((name) => found.get(caseKey(key, name)) ?? []);
			return statuses.length === 0 ? undefined : worstOutcome(statuses);
		},
	};
}

export type FailingGate = GateResult & { status: Exclude<GateStatus, "pass"> };

export function failingGates(result: Result): FailingGate[] {
	return result.gates.filter((gate): gate is FailingGate => gate.status !== "pass");
}

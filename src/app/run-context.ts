// What the stages of one run work on: what is known before anything is built, and what is found out.
import type { Plan } from "../core/plan/plan.ts";
import type { GoldenSet } from "../stages/load-goldens.ts";
import type { PreparedModel } from "../stages/prepared.ts";
import type { Facts } from "./facts.ts";
import type { GateInput } from "./gate-input.ts";

/** What is known before any engine is built. */
export interface Prepared {
	models: readonly PreparedModel[];
	goldens: ReadonlyMap<string, GoldenSet>;
	plan: Plan;
}

export interface RunContext {
	prepared: Prepared;
	input: GateInput;
	facts: Facts;
}

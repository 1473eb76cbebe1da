// Lays what a look into an engine has seen beside the workload that it was seen of.
import type { Arm, ArmKernels, ArmLayers, WorkloadResult } from "../schema/result.ts";

export interface Seen {
	id: string;
	arm: Arm;
	layers?: ArmLayers;
	kernels?: ArmKernels;
}

/** Changes the row: it is explained after it was judged. */
export function attachSeen(rows: readonly WorkloadResult[], { id, arm, layers, kernels }: Seen): void {
	const row = rows.find((candidate) => candidate.id === id);
	if (row === undefined) return;
	if (layers !== undefined) row.layers = { ...(row.layers ?? { base: null, head: null }), [arm]: layers };
	if (kernels !== undefined) row.kernels = { ...(row.kernels ?? { base: null, head: null }), [arm]: kernels };
}

// A backend for each side: base and head of one run on two TensorRTs of one machine.
import type { Arm } from "../core/schema/result.ts";
import type { Backend, BuiltEngine } from "../ports/backend.ts";

export function perArm(arms: Readonly<Record<Arm, Backend>>, notes: readonly string[] = []): Backend {
	const of = ({ engine }: { engine: Pick<BuiltEngine, "arm"> }): Backend => arms[engine.arm];
	return {
		facts: (arm = "head") => arms[arm].facts(),
		fingerprint: async () => ({ ...(await arms.head.fingerprint()), "base-tensorrt": (await arms.base.facts()).version }),
		build: ({ cacheFolder, ...job }) =>
			// TensorRT reads kernel timings of its own version only.
			arms[job.arm].build({ ...job, ...(cacheFolder === undefined ? {} : { cacheFolder: `${cacheFolder}/${job.arm}` }) }),
		layersOf: async (engine) => (await arms[engine.arm].layersOf?.(engine)) ?? null,
		infer: (job) => of(job).infer(job),
		measure: (job) => of(job).measure(job),
		profile: async (job) => (await of(job).profile?.(job)) ?? { state: "absent" },
		trace: async (job) => (await of(job).trace?.(job)) ?? { state: "absent" },
		notes: () => {
			const [base, head] = [arms.base.notes?.() ?? [], arms.head.notes?.() ?? []];
			const alone = (own: readonly string[], other: readonly string[]): string[] => own.filter((note) => !other.includes(note));
			const shared = base.filter((note) => head.includes(note));
			return [
				...notes,
				...shared,
				...alone(base, head).map((note) => `Base: ${note}`),
				...alone(head, base).map((note) => `Head: ${note}`),
			];
		},
	};
}

// The backend of a run, chosen at first use; base and head may have different TensorRTs.
import type { Arm } from "../../generated/result.ts";
import type { Backend } from "../ports/backend.ts";

export type ArmBackends = Readonly<Record<Arm, Backend>>;

export function lazyBackend(choose: () => Promise<ArmBackends>): Backend {
	let ready: ArmBackends | null = null;
	const of = async ({ arm }: { arm: Arm }): Promise<Backend> => {
		ready = await choose();
		return ready[arm];
	};
	const head = () => of({ arm: "head" });
	const isSplit = (): boolean => ready !== null && ready.base !== ready.head;
	return {
		facts: async (arm = "head") => (await of({ arm })).facts(),
		fingerprint: async () => {
			const [own, base] = [await (await head()).fingerprint(), await of({ arm: "base" })];
			return isSplit() ? { ...own, "base-tensorrt": (await base.facts()).version } : own;
		},
		build: async ({ cacheFolder, ...job }) => {
			const backend = await of(job);
			// TensorRT reads kernel timings of its own version only.
			const own = cacheFolder === undefined || !isSplit() ? cacheFolder : `${cacheFolder}/${job.arm}`;
			return backend.build({ ...job, cacheFolder: own });
		},
		layersOf: async (engine) => (await (await of(engine)).layersOf?.(engine)) ?? null,
		infer: async (job) => (await of(job.engine)).infer(job),
		measure: async (job) => (await of(job.engine)).measure(job),
		count: async (job) =>
			(await (await of(job.engine)).count?.(job)) ?? {
				state: "absent",
				reason: "TensorRT's engines are timed.",
			},
		profile: async (job) => (await (await of(job.engine)).profile?.(job)) ?? { state: "absent" },
		trace: async (job) => (await (await of(job.engine)).trace?.(job)) ?? { state: "absent" },
		notes: () => {
			const [base, own] = [ready?.base.notes?.() ?? [], ready?.head.notes?.() ?? []];
			const sideOf = (note: string): string =>
				!base.includes(note) ? "Head: " : !own.includes(note) ? "Base: " : "";
			return [...new Set([...base, ...own])].map((note) => `${sideOf(note)}${note}`);
		},
	};
}

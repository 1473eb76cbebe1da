// Puts what probes find into the run's facts.
import type { BuiltEngine } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import { probe } from "../stages/probe.ts";
import type { RunContext } from "./run-context.ts";

/** @param enter called after each engine, so that a run that somebody stopped ends here. */
export async function probeEngines(
	engines: readonly BuiltEngine[],
	work: RunContext,
	{ ports, enter }: { ports: Ports; enter(): void },
): Promise<void> {
	const { input, facts, prepared } = work;
	const { threads, timeoutMs } = input.config.measure;
	const asked = {
		engines,
		goldens: prepared.goldens,
		outFolder: input.outFolder,
		threads,
		timeoutMs,
		isScheduled: input.isScheduled ?? false,
	};
	for await (const probed of probe(asked, ports)) {
		if (probed.state === "judged") facts.probes.push(...probed.results);
		else facts.errors.push(probed.error);
		enter();
	}
}

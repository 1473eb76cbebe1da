// The defaults of trtgate.yml, except those of `gates`.
import type { Config, MeasureConfig, ProbesConfig } from "./config.ts";
import { type GateValues, gateEntries } from "./gate-records.ts";

export const defaultGates = Object.fromEntries(
	gateEntries.map(([key, { byDefault }]) => [key, byDefault]),
) as unknown as GateValues;

/** A dozen inferences per engine: too slow for every push. */
export const defaultProbes: Omit<ProbesConfig, "pointer"> = { when: "new", only: [] };

const minuteMs = 60_000;

export const defaultMeasure: MeasureConfig = {
	looks: [5, 8, 12, 16],
	warmUpMs: 2000,
	// Longer than the one-second swing of a GPU at its power limit.
	durationMs: 3000,
	adaptsLength: true,
	timeoutMs: 10 * minuteMs,
	buildTimeoutMs: 30 * minuteMs,
	threads: 1,
	// If kernel timings are shared, two builds differ by less than 0.1 %, and a second build is cheap.
	rebuilds: 1,
	identicalEngines: "skip",
	// Launches by the CPU are the largest noise of small models: 1.5 % without a graph, 0.2 % with one.
	cudaGraph: true,
	transfers: false,
	spinWait: true,
	// Half a minute and up to three minutes for an engine.
	startUp: "nightly",
	memoryGrowth: "nightly",
	// Four minutes for an engine.
	load: { when: "off", arrivals: "poisson", at: 0.8, maxDelayMs: 0, durationMs: 10_000 },
};

type Settings = Pick<Config, "backend" | "onnxruntime" | "preflight" | "baseline" | "profile" | "cache"> & {
	explain: { bisect: Config["explain"]["bisect"]; budget: string };
};

export const defaultSettings: Settings = {
	backend: "auto",
	onnxruntime: "auto",
	preflight: { strict: false },
	baseline: { from: "base-ref" },
	// A profile costs a minute, and Nsight Compute needs a right to read counters that most runners lack.
	profile: { nsys: "on-regression", ncu: "never" },
	explain: { bisect: "off", budget: "5m" },
	cache: { engines: true, timing: true, verdicts: true },
};

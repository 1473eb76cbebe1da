// When requests arrive: drawn before a run, the same for base and head.
import { ConfigError } from "../errors.ts";
import { poissonArrivals } from "./batcher.ts";

/** `poisson` and `constant` at any rate; an array, in ms from 0, at its own. */
export type Arrivals = "poisson" | "constant" | Float64Array;

const mostArrivals = 200_000;

export function schedule(
	arrivals: Arrivals,
	{ seed, count, perSecond }: { seed: number; count: number; perSecond: number },
): Float64Array {
	if (typeof arrivals !== "string") return arrivals;
	if (arrivals === "poisson") return poissonArrivals(seed, count, perSecond / 1000);
	return Float64Array.from({ length: count }, (_, index) => (1000 * index) / perSecond);
}

export function ratePerSecond(arrivals: Float64Array): number {
	return (1000 * (arrivals.length - 1)) / (arrivals.at(-1) ?? NaN);
}

/** One time in ms a line, ascending, from any start. @throws ConfigError arrivals-invalid. */
export function parseArrivals(text: string, path: string): Float64Array {
	const lines = text.trim().split(/\s*\n\s*/);
	const refuse = (line: number, found: string) =>
		new ConfigError({
			code: "arrivals-invalid",
			message: `${path}:${line}: ${found}; expected one arrival a line, in ascending milliseconds.`,
			location: { path, line },
			fix: "Write each request's time of arrival on a line of its own, such as 12.5.",
		});
	if (lines.length < 2 || lines.length > mostArrivals)
		throw refuse(1, `${lines.length} lines, not 2 to ${mostArrivals}`);
	const times = Float64Array.from(lines, Number);
	const first = times[0] ?? 0;
	for (const [index, ms] of times.entries()) {
		const [line = "", before = ms] = [lines[index], times[index - 1]];
		if (!/^-?[0-9.]+(e[+-]?[0-9]+)?$/i.test(line) || !Number.isFinite(ms))
			throw refuse(index + 1, `${JSON.stringify(line.slice(0, 40))} is no time`);
		if (ms < before) throw refuse(index + 1, `${ms} is before the arrival above it`);
	}
	if (times.at(-1) === first) throw refuse(lines.length, "all requests arrive at once");
	return times.map((ms) => ms - first);
}

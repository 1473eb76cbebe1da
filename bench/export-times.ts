// Prints how fast the streaming parser of --exportTimes is compared with JSON.parse, and how much memory each needs.
import { createTimesParser } from "../src/formats/trtexec/export-times.ts";

/** Entries as trtexec prints them, six significant digits. */
function makeTimes(iterations: number): Uint8Array {
	const six = (value: number): string => String(Number(value.toPrecision(6)));
	const lines: string[] = [];
	for (let index = 0; index < iterations; index++) {
		const start = 300 + index * 0.0293;
		const compute = 0.028 + (index % 97) * 1e-5;
		lines.push(
			`{ "startEnqMs" : ${six(start)}, "endEnqMs" : ${six(start + 0.0012)}, "startH2dMs" : ${six(start)}, "endH2dMs" : ${six(start)}, "startComputeMs" : ${six(start)}, "endComputeMs" : ${six(start + compute)}, "startD2hMs" : ${six(start + compute)}, "endD2hMs" : ${six(start + compute)}, "h2dMs" : 0, "computeMs" : ${six(compute)}, "d2hMs" : 0, "latencyMs" : ${six(compute)} }`,
		);
	}
	return new TextEncoder().encode(`[\n  ${lines.join("\n, ")}\n]\n`);
}

function elapsedMs(task: () => void): number {
	const start = performance.now();
	task();
	return performance.now() - start;
}

function medianOf(times: readonly number[]): number {
	return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

const iterations = Number(process.argv[2] ?? 34_100);
const bytes = makeTimes(iterations);
const chunkBytes = 65_536;

function byStream(): number {
	const parser = createTimesParser();
	for (let at = 0; at < bytes.length; at += chunkBytes) parser.push(bytes.subarray(at, at + chunkBytes));
	const result = parser.end();
	if (result.state !== "ok") throw new Error(result.message);
	return result.times.computeMs.length;
}

function byJson(): number {
	const entries = JSON.parse(new TextDecoder().decode(bytes)) as { computeMs: number }[];
	return Float64Array.from(entries, (entry) => entry.computeMs).length;
}

if (byStream() !== byJson()) throw new Error("The two disagree.");
// Alternating, so that a busy machine slows both.
const rounds = Array.from({ length: 11 }, () => ({ stream: elapsedMs(byStream), json: elapsedMs(byJson) }));
const streamMs = medianOf(rounds.map((round) => round.stream));
const jsonMs = medianOf(rounds.map((round) => round.json));
console.log(`exportTimes, ${iterations} iterations, ${(bytes.length / 1e6).toFixed(1)} MB`);
console.log(
	`  streaming parser  ${streamMs.toFixed(1)} ms   ${(bytes.length / 1e3 / streamMs).toFixed(0)} MB/s`,
);
console.log(`  JSON.parse        ${jsonMs.toFixed(1)} ms   ${(bytes.length / 1e3 / jsonMs).toFixed(0)} MB/s`);
console.log(`  ratio             ${(jsonMs / streamMs).toFixed(2)}× as fast as JSON.parse`);

// Feeds damaged files to every reader of outside data: each must be read or refused, within a second and 512 MiB.
// node bench/fuzz-formats.ts [inputs of each format, in thousands] [name of a format]
import { spawn } from "node:child_process";
import { setImmediate } from "node:timers/promises";
import { ConfigError, ToolError } from "../src/core/errors.ts";
import { damage, randomSource } from "./fuzz/damage.ts";
import { type Target, targets } from "./fuzz/targets.ts";

const maxMs = 1000;
const maxMebibytes = 512;
/** Without it, V8 lets garbage grow to gigabytes before it collects. A process that needs more dies, which is a failure. */
const heapLimit = `--max-old-space-size=${maxMebibytes / 2}`;
/** A process that is silent for this long hangs in one input. */
const silenceMs = 60_000;

interface Row {
	perSecond: number;
	takenShare: number;
	slowestMs: number;
	peakMebibytes: number;
}

/**
 * After this many inputs the event loop runs: only then does Node free the memory of an inflateSync that threw. The product
 * itself ends at the first file that it refuses.
 */
const inputsOfATurn = 1000;

async function fuzz(target: Target, inputs: number): Promise<Row> {
	const random = randomSource(0x9e3779b9);
	const start = performance.now();
	let [taken, slowestMs, saidMs] = [0, 0, start];
	for (let i = 0; i < inputs; i += 1) {
		if (i % inputsOfATurn === 0) await setImmediate();
		const bytes = damage(target.seeds[i % target.seeds.length] ?? new Uint8Array(), random);
		const before = performance.now();
		if (before - saidMs > 1000) {
			process.send?.({ at: i });
			saidMs = before;
		}
		if (await isRead(target, bytes, i)) taken += 1;
		const ms = performance.now() - before;
		if (ms > slowestMs) slowestMs = ms > maxMs / 40 ? Math.max(slowestMs, await cpuMsOf(target, bytes)) : ms;
		if (slowestMs > maxMs)
			throw new Error(`${target.name}, input ${i} took ${Math.round(slowestMs)} ms: ${shown(bytes)}`);
	}
	const perSecond = (inputs / (performance.now() - start)) * 1000;
	return {
		perSecond,
		takenShare: taken / inputs,
		slowestMs,
		peakMebibytes: process.resourceUsage().maxRSS / 1024,
	};
}

async function isRead(target: Target, bytes: Uint8Array, at: number): Promise<boolean> {
	try {
		// A copy: readers may keep or change their input.
		await target.read(Uint8Array.from(bytes));
		return true;
	} catch (error) {
		if (error instanceof ConfigError || error instanceof ToolError) return false;
		throw new Error(`${target.name}, input ${at}: ${shown(bytes)}`, { cause: error });
	}
}

/** Processor time, because other load distorts wall time. The lesser of two, because one may include a garbage collection. */
async function cpuMsOf(target: Target, bytes: Uint8Array): Promise<number> {
	const times: number[] = [];
	for (let nth = 0; nth < 2; nth += 1) {
		const before = process.cpuUsage();
		await isRead(target, bytes, -1);
		const { user, system } = process.cpuUsage(before);
		times.push((user + system) / 1000);
	}
	return Math.min(...times);
}

function shown(bytes: Uint8Array): string {
	return `${bytes.length} bytes, ${Buffer.from(bytes).toString("base64").slice(0, 4000)}`;
}

/** A separate process, so that its peak is its own, and a reader that hangs can be ended. */
function fuzzApart(target: Target, inputs: number): Promise<Row | string> {
	return new Promise((done) => {
		const child = spawn(
			process.execPath,
			[heapLimit, import.meta.filename, String(inputs), target.name, "--alone"],
			{
				stdio: ["ignore", "inherit", "inherit", "ipc"],
			},
		);
		let at = 0;
		let row: Row | null = null;
		const hangs = (): NodeJS.Timeout => setTimeout(() => child.kill("SIGKILL"), silenceMs);
		let timer = hangs();
		child.on("message", (message: { at: number } | Row) => {
			clearTimeout(timer);
			timer = hangs();
			if ("at" in message) at = message.at;
			else row = message;
		});
		child.on("close", (code, signal) => {
			clearTimeout(timer);
			done(row ?? (signal === null ? `ended with ${code}` : `hung soon after input ${at}`));
		});
	});
}

function faultsOf({ slowestMs, peakMebibytes }: Row): string[] {
	return [
		...(slowestMs > maxMs ? [`an input took ${Math.round(slowestMs)} ms`] : []),
		...(peakMebibytes > maxMebibytes ? [`its memory peaked at ${Math.round(peakMebibytes)} MiB`] : []),
	];
}

async function fuzzAll(inputs: number, only: string | undefined): Promise<string[]> {
	console.log(
		`Damaged files, ${inputs} of each format: none may do anything but be read or refused, within ${maxMs} ms and ${maxMebibytes} MiB`,
	);
	console.log("| format | inputs/s | read all the same | slowest | peak |\n|---|---|---|---|---|");
	const faults: string[] = [];
	for (const target of targets.filter(({ name }) => only === undefined || name === only)) {
		const row = await fuzzApart(target, inputs);
		const found = typeof row === "string" ? [row] : faultsOf(row);
		faults.push(...found.map((fault) => `${target.name}: ${fault}`));
		if (typeof row === "string") continue;
		const { perSecond, takenShare, slowestMs, peakMebibytes } = row;
		const cells = [
			Math.round(perSecond),
			`${(100 * takenShare).toFixed(1)} %`,
			`${slowestMs.toFixed(1)} ms`,
			`${Math.round(peakMebibytes)} MiB`,
		];
		console.log(`| ${[target.name, ...cells].join(" | ")} |`);
	}
	return faults;
}

const [count = "5", name, alone] = process.argv.slice(2);
const inputs = Number(count) * (alone === undefined ? 1000 : 1);
if (!Number.isInteger(inputs) || inputs < 1)
	throw new Error("Usage: node bench/fuzz-formats.ts [thousands of inputs of each format] [format]");
if (alone === undefined) {
	const faults = await fuzzAll(inputs, name);
	for (const fault of faults) console.error(fault);
	if (faults.length > 0) process.exitCode = 1;
} else {
	const target = targets.find((one) => one.name === name);
	if (target !== undefined) process.send?.(await fuzz(target, inputs));
}

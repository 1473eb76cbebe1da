// Worker processes that live on for the next job: starting ONNX Runtime in WebAssembly takes a quarter of a second of CPU, one more
// session in a process that has it a few milliseconds. Only where an earlier job cannot change a later one: never for counting, for a model
// that draws random numbers (the generator is seeded once a process), or after a job that failed.
import type { OnnxGraph, OnnxModel } from "../../core/onnx/model.ts";
import { cutLines, lastLines } from "../process/lines.ts";
import { openLog } from "../process/log.ts";
import type { Processes } from "../process/processes.ts";
import type { Pipes, ProcessRecord } from "../process/spawn.ts";
import { idleLine } from "./protocol.ts";

export interface HostedJob {
	argv: readonly [string, string, string];
	env: Readonly<Record<string, string>>;
	kind: string;
	logPath: string;
	timeoutMs: number;
	onLine?(line: string): void;
}

interface Host {
	kind: string;
	run(job: HostedJob): Promise<ProcessRecord>;
}

const foreverMs = 2 ** 31 - 1;
const logCapBytes = 64 * 1024 * 1024;
const tailLines = 40;

const waiting = new WeakMap<Processes, Set<Host>>();

function waitingHosts(processes: Processes): Set<Host> {
	const hosts = waiting.get(processes) ?? new Set();
	waiting.set(processes, hosts);
	return hosts;
}

/** @throws ConfigError output-unwritable, ToolError disk-full of the log. */
export async function runHosted(job: HostedJob, processes: Processes): Promise<ProcessRecord> {
	const hosts = waitingHosts(processes);
	const host = [...hosts].find(({ kind }) => kind === job.kind) ?? createHost(job.kind, processes);
	hosts.delete(host);
	return processes.busy(host.run(job));
}

function createHost(kind: string, processes: Processes): Host {
	const stop = new AbortController();
	const hosts = waitingHosts(processes);
	let pipes: Pipes | null = null;
	let onLine: (line: string) => void = () => {};
	let life: Promise<ProcessRecord> | null = null;
	const start = ({ argv, env }: HostedJob): Promise<ProcessRecord> =>
		processes.run({
			argv,
			env,
			timeoutMs: foreverMs,
			signal: stop.signal,
			beside: true,
			background: true,
			talk(its) {
				pipes = its;
				its.output.on("data", cutLines((line) => onLine(line)).push);
			},
			onLine: (line) => onLine(line),
		});
	const host: Host = {
		kind,
		async run(job) {
			const started = performance.now();
			const log = await openLog(job.logPath, logCapBytes);
			const tail = lastLines(tailLines);
			let isLate = false;
			// Holds this process open, which a host in the background does not.
			const timer = setTimeout(() => {
				isLate = true;
				stop.abort();
			}, job.timeoutMs);
			const done = new Promise<null>((resolve) => {
				onLine = (line) => {
					if (line === `${idleLine}${job.argv[2]}`) return resolve(null);
					tail.add(line);
					if (pipes !== null) log.write(Buffer.from(`${line}\n`), pipes.output);
					job.onLine?.(line);
				};
			});
			if (life === null) life = start(job).finally(() => hosts.delete(host));
			else pipes?.input.write(`${job.argv[2]}\n`);
			const ended = await Promise.race([done, life]);
			clearTimeout(timer);
			onLine = () => {};
			await log.close();
			if (ended === null) hosts.add(host);
			const { logPath, argv } = job;
			const wallMs = performance.now() - started;
			const shared = { wallMs, tail: tail.lines(), logPath, argv };
			if (ended === null)
				return { state: "exited", exitCode: 0, signal: null, stdout: "", problem: "", ...shared };
			return { ...ended, ...shared, state: isLate ? "timed-out" : ended.state };
		},
	};
	return host;
}

const drawing = /Random|Bernoulli|Multinomial|Dropout/;

/** Whether outputs may depend on a process's random seed; in doubt they do. */
export function drawsRandomly({ graph, functions }: OnnxModel): boolean {
	const draws = ({ nodes, subgraphs }: Pick<OnnxGraph, "nodes" | "subgraphs">): boolean =>
		nodes.some(({ op }) => drawing.test(op)) || subgraphs.some((inner) => draws(inner.graph));
	return draws(graph) || functions.some(draws);
}

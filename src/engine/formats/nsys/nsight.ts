// Command lines of Nsight Systems and Compute, the table of `nsys stats`, and why ncu left no report.
import type { KernelFact } from "../../core/explain/layers.ts";

/**
 * Never `osrt`: tracing how trtexec reads its libraries grew a report from 2.4 to 155 MB. Sampling and context switches
 * are off because containers forbid them. Without node tracing a CUDA graph is one block without kernels. `stop`
 * keeps nsys from ending trtexec at the end of the range, before its summary.
 */
export function profileArgs(output: string, command: readonly string[]): string[] {
	return [
		"profile",
		`--output=${output}`,
		"--force-overwrite=true",
		"--trace=cuda,nvtx",
		"--sample=none",
		"--cpuctxsw=none",
		"--capture-range=cudaProfilerApi",
		"--capture-range-end=stop",
		"--cuda-graph-trace=node",
		...command,
	];
}

/** Forced, because nsys rejects a database that is older than its report. */
export function statsArgs(report: string, { name, output }: { name: string; output: string }): string[] {
	const format = ["--force-export=true", "--format", "csv"];
	return ["stats", "-q", ...format, "--output", output, "--report", name, report];
}

export const helpReportsArgs: readonly string[] = ["stats", "--help-reports"];

/** The first since 2023.1, the second before. */
export function kernelReport(help: string): string {
	return /^\s*gpukernsum\b/m.test(help) && !/^\s*cuda_gpu_kern_sum\b/m.test(help)
		? "gpukernsum"
		: "cuda_gpu_kern_sum";
}

/** Profiles one kernel, as nsys names it, or the first that run. Leaves the clocks alone. */
export function ncuArgs(job: { output: string; kernel?: string; command: readonly string[] }): string[] {
	const { output, kernel, command } = job;
	const which =
		kernel === undefined
			? ["--launch-count", "20"]
			: ["--kernel-name", kernelFilter(kernel), "--launch-count", "3"];
	return [
		"--set",
		"basic",
		"--clock-control",
		"none",
		...which,
		"--force-overwrite",
		"--export",
		output,
		...command,
	];
}

/** ncu filters by the bare name; nsys prints `void genericReformat::copyPackedKernel<float, …>(unsigned int, …)`. */
function kernelFilter(kernel: string) {
	const start = kernel.replaceAll("(anonymous namespace)::", "").split(/[<(]/, 1)[0] ?? "";
	const name = /[^\s:]*$/.exec(start.trimEnd())?.[0] ?? "";
	return `regex:^${name.replace(/[^\w]/g, "\\$&")}$`;
}

const forbidden = /ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters/i;
const busy =
	/another (?:tool|process|instance).*(?:profil|counter)|ERR_NVCMPT_BUSY|driver resource .*unavailable/i;
const fault = /^==(?:ERROR|WARNING)==\s*(.+)$/gm;
const maxChars = 300;

export function diagnoseNcu(log: string): string {
	if (forbidden.test(log)) {
		return "ncu has no permission to read the GPU's performance counters (ERR_NVGPUCTRPERM). Load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run the runner's container with --cap-add=SYS_ADMIN.";
	}
	if (/No kernels were profiled/i.test(log))
		return "ncu saw no launch of the selected kernel and wrote no report.";
	if (busy.test(log)) {
		return "ncu could not access the GPU's counters because another tool uses them. Stop DCGM's profiling (dcgmi profile --pause) or the other profiler.";
	}
	const lastLine = log.trim().split(/\r?\n/).at(-1)?.trim();
	const reason = [...log.matchAll(fault)].at(-1)?.[1] ?? lastLine;
	return `ncu wrote no report: ${reason ? reason.slice(0, maxChars) : "it printed no reason."}`;
}

type KernelTable =
	| { state: "ok"; kernels: KernelFact[] }
	| { state: "no-data" }
	| { state: "unknown"; why: string };

/** Networks have a few thousand. */
const maxRows = 100_000;

/** `text` may have sentences before the table. */
export function parseKernelTable(text: string): KernelTable {
	const lines = text.split(/\r?\n/);
	const at = lines.findIndex((line) => /^"?Time ?\(%\)"?,/.test(line));
	const header = lines[at];
	if (header === undefined) {
		if (text.trim() === "" || /does not contain .* data/.test(text)) return { state: "no-data" };
		return { state: "unknown", why: `no header in ${lines.length} lines` };
	}
	const columns = splitCsvLine(header, Infinity).map((name) => name.replace(/\s+/g, " ").trim());
	for (const name of ["Name", "Total Time (ns)"])
		if (!columns.includes(name))
			return { state: "unknown", why: `no column ${name} in ${columns.join(", ")}` };
	const body = lines.slice(at + 1, at + 1 + maxRows).filter((line) => line.trim() !== "");
	const kernels = body.flatMap((line) => rowOf(splitCsvLine(line, columns.length), columns) ?? []);
	return { state: "ok", kernels };
}

function rowOf(cells: readonly string[], columns: readonly string[]) {
	const cell = (title: string) => cells[columns.indexOf(title)]?.trim() ?? "";
	const [name, total, count] = [cell("Name"), cell("Total Time (ns)"), cell("Instances") || cell("Count")];
	const [totalNs, instances] = [Number(total), Number(count)];
	if (name === "" || total === "" || count === "") return null;
	return Number.isFinite(totalNs) && Number.isFinite(instances) ? { name, totalNs, instances } : null;
}

/**
 * At most `most` cells; the last takes the remaining text. nsys does not escape quotes inside a cell, so the end of a
 * kernel's name, the last cell, cannot be found otherwise.
 */
function splitCsvLine(line: string, most: number) {
	const cells: string[] = [];
	let at = 0;
	while (at <= line.length) {
		const quoted = line[at] === '"';
		const end = cells.length + 1 === most ? line.length : endOfCell(line, at);
		const cell = line.slice(at, end);
		cells.push(quoted ? cell.slice(1, cell.endsWith('"') ? -1 : undefined).replaceAll('""', '"') : cell);
		at = end + 1;
	}
	return cells;
}

function endOfCell(line: string, from: number) {
	if (line[from] !== '"') return line.indexOf(",", from) === -1 ? line.length : line.indexOf(",", from);
	const end = line.indexOf('",', from + 1);
	return end === -1 ? line.length : end + 1;
}

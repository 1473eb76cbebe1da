import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
	diagnoseNcu,
	kernelReport,
	ncuArgs,
	parseKernelTable,
	profileArgs,
	statsArgs,
} from "../../../../src/engine/formats/nsys/nsight.ts";

const fixture = (name: string) => readFileSync(`test/fixtures/nsys/${name}.csv`, "utf8");
const header = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name";

it.each([
	["classifier-fp16_cuda_gpu_kern_sum", 10, "sm80_xmma_fprop_implicit_gemm_f16f16", 397],
	["encoder-fp16_cuda_gpu_kern_sum", 10, "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n", 2052],
])("parseKernelTable reads %s", (name, count, first, instances) => {
	const table = parseKernelTable(fixture(name));
	if (table.state !== "ok") throw new Error(table.state);
	expect(table.kernels).toHaveLength(count);
	expect(table.kernels[0]?.name.startsWith(first)).toBe(true);
	expect(table.kernels[0]?.instances).toBe(instances);
	expect(table.kernels.map((kernel) => kernel.name)).toContainEqual(
		expect.stringMatching(/^void genericReformat::copy.*\)$/),
	);
});

it("parseKernelTable finds columns by their names: grids of 2022, spaces, sentences before", () => {
	const text = [
		"Processing [a.sqlite] with [gpukernsum.py]... ",
		'"Time(%)","Total Time (ns)",Instances,"Average (ns)",GridXYZ,Name',
		'60.5,1000,4,250.0,"   8    1    1",kernel_a',
	].join("\n");
	expect(parseKernelTable(text)).toEqual({
		state: "ok",
		kernels: [{ name: "kernel_a", totalNs: 1000, instances: 4 }],
	});
});

it("parseKernelTable reads names with commas and with quotes that nsys does not double", () => {
	const table = parseKernelTable(
		`${header}\n50.0,10,1,10,10,10,10,0,"k<1, 2>("q", 3)"\n50.0,10,1,10,10,10,10,0,plain\n`,
	);
	expect(table.state === "ok" && table.kernels.map(({ name }) => name)).toEqual(['k<1, 2>("q", 3)', "plain"]);
});

it("parseKernelTable leaves out lines that it cannot read, a cut last one among them", () => {
	expect(parseKernelTable(`${header}\n50.0,10,1,10,10,10,10,0,a\n50.0,1`)).toEqual({
		state: "ok",
		kernels: [{ name: "a", totalNs: 10, instances: 1 }],
	});
});

it.each([
	["", "no-data"],
	["SKIPPED: a.sqlite does not contain CUDA kernel data.", "no-data"],
	["hello", "unknown"],
	[fixture("encoder-fp16_cuda_gpu_mem_size_sum"), "unknown"],
	["Time (%),Total Time (us),Instances,Name\n1,2,3,a", "unknown"],
])("parseKernelTable makes no kernels of %j", (text, state) => {
	expect(parseKernelTable(text).state).toBe(state);
});

it("parseKernelTable reads a header of a million blanks, which once took minutes", () => {
	const header = `Time (%),${" ".repeat(1_000_000)}x,Total Time (ns),Instances,Name`;
	expect(parseKernelTable(`${header}\n1,2,3,4,k\n`)).toMatchObject({
		state: "ok",
		kernels: [{ name: "k", totalNs: 3 }],
	});
});

it("the command line traces only CUDA and NVTX, and lets the program end by itself", () => {
	const args = profileArgs("/o/p", ["trtexec", "--loadEngine=e"]).join(" ");
	expect(args).toMatch(/ --trace=cuda,nvtx .* --capture-range-end=stop .*trtexec --loadEngine=e$/);
});

it("the command line names the report as the version does", () => {
	const both = "  cuda_gpu_kern_sum[:nvtx-name] -- CUDA GPU Kernel Summary\n  gpukernsum -- DEPRECATED";
	expect([both, "   gpukernsum[:base] -- CUDA GPU Kernel Summary", ""].map(kernelReport)).toEqual([
		"cuda_gpu_kern_sum",
		"gpukernsum",
		"cuda_gpu_kern_sum",
	]);
	expect(statsArgs("/o/p.nsys-rep", { name: "gpukernsum", output: "/o/p" })).toContain("--force-export=true");
});

it("the command line examines one kernel with ncu, and does not lock the clocks", () => {
	const args = ncuArgs({ output: "/o/k", kernel: "a b", command: ["trtexec"] }).join("|");
	expect(args).toContain("--clock-control|none");
	expect(args).toContain("--kernel-name|regex:^b$|--launch-count|3");
	expect(ncuArgs({ output: "/o/k", command: ["trtexec"] })).not.toContain("--kernel-name");
});

it.each([
	["sm80_xmma_gemm_f16_execute_kernel_trt", "sm80_xmma_gemm_f16_execute_kernel_trt"],
	[
		"void genericReformat::copyPackedKernel<float, __half, (bool)1>(unsigned int, const void *)",
		"copyPackedKernel",
	],
	["void (anonymous namespace)::pool<(int)4>(float *)", "pool"],
	["odd.name*", "odd\\.name\\*"],
])("the command line names %s as ncu knows it", (kernel, name) => {
	expect(ncuArgs({ output: "/o/k", kernel, command: [] })).toContain(`regex:^${name}$`);
});

it.each([
	["==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "NVreg_RestrictProfilingToAdminUsers=0"],
	["==PROF== Connected\n==WARNING== No kernels were profiled.", "no launch of the selected kernel"],
	["==ERROR== Failed to load the library.\nbye", "ncu wrote no report: Failed to load the library."],
	["segmentation fault\n", "ncu wrote no report: segmentation fault"],
	["", "it printed no reason."],
])("the command line explains why ncu left nothing, of %j", (log, why) => {
	expect(diagnoseNcu(log)).toContain(why);
});

it("parseKernelTable never throws", () => {
	fc.assert(
		fc.property(fc.string({ unit: "binary" }), (text) => void parseKernelTable(`${header}\n${text}`)),
	);
});

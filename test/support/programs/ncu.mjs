// Stands in for ncu. First argument, as mode=NAME: full, forbidden, no-kernels, hang.
import { writeFileSync } from "node:fs";

const mode = process.argv[2].slice("mode=".length);
const args = process.argv.slice(3);

const forbidden = `==PROF== Connected to process 4711
==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0. For instructions on enabling permissions and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM
==PROF== Disconnected from process 4711
==WARNING== No kernels were profiled.`;

if (args[0] === "--version")
	console.log("NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2023.3.1.0");
else if (mode === "hang") setInterval(() => {}, 1000);
else if (mode === "forbidden") {
	console.log(forbidden);
	process.exitCode = 1;
} else if (mode === "no-kernels")
	console.log("==WARNING== No kernels were profiled.\nAvailable Kernels:\n1. other");
else {
	console.log(`==PROF== Profiling "${args[args.indexOf("--kernel-name") + 1]}"`);
	writeFileSync(`${args[args.indexOf("--export") + 1]}.ncu-rep`, "report");
}

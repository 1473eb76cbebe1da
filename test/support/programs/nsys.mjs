// Stands in for nsys. First argument, as mode=NAME: full, no-importer, no-range, old, no-data, hang, odd.
import { copyFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../../fixtures/nsys");
const mode = process.argv[2].slice("mode=".length);
const args = process.argv.slice(3);
const optionOf = (name) =>
	args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1) ?? args[args.indexOf(name) + 1];

if (args[0] === "--version") console.log("NVIDIA Nsight Systems version 2023.4.4.54-234433681190v0");
else if (mode === "hang") setInterval(() => {}, 1000);
else if (args[0] === "profile") {
	const output = optionOf("--output");
	if (mode === "no-importer") {
		writeFileSync(`${output}.qdstrm`, "raw");
		console.log("Importer error status: The importer binary and its dependencies were not found.");
	} else if (mode === "no-range") console.log("Generated:");
	else writeFileSync(`${output}.nsys-rep`, "report");
} else if (args.includes("--help-reports")) {
	console.log(
		mode === "old"
			? "  gpukernsum[:base] -- CUDA GPU Kernel Summary"
			: "  cuda_gpu_kern_sum[:base] -- CUDA GPU Kernel Summary",
	);
} else {
	const csv = `${optionOf("--output")}_${optionOf("--report")}.csv`;
	if (mode === "no-data") {
		writeFileSync(csv, "");
		console.log("SKIPPED: p.sqlite does not contain CUDA kernel data.");
	} else if (mode === "odd") writeFileSync(csv, "something else\n");
	else copyFileSync(join(fixtures, "encoder-fp16_cuda_gpu_kern_sum.csv"), csv);
}

// Bundles src into dist/: the doors, their shared chunks under stable names, the WebAssembly runtime and TensorRT's worker.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";

const outDir = process.argv[2] ?? "dist";
const doors = ["main", "post", "cli", "plan", "report", "golden", "ort-worker"];

rmSync(outDir, { recursive: true, force: true });
await build({
	input: Object.fromEntries(doors.map((name) => [name, `src/${name}.ts`])),
	platform: "node",
	logLevel: "warn",
	output: {
		dir: outDir,
		format: "esm",
		minify: true,
		entryFileNames: "[name].js",
		chunkFileNames: "[name].js",
		comments: { legal: false },
	},
});

mkdirSync(`${outDir}/ort`);
const runtime = "node_modules/onnxruntime-web/dist";
copyFileSync(`${runtime}/ort-wasm-simd-threaded.mjs`, `${outDir}/ort/ort-wasm-simd-threaded.mjs`);
const packed = gzipSync(readFileSync(`${runtime}/ort-wasm-simd-threaded.wasm`), { level: 9 });
// Byte 9 of a gzip header names the system that packed it; the same everywhere, so that the build is.
packed[9] = 255;
writeFileSync(`${outDir}/ort/ort-wasm-simd-threaded.wasm.gz`, packed);

// Whoever takes dist/ alone still has the worker: it is found beside the bundle, never beside the sources.
mkdirSync(`${outDir}/worker`);
copyFileSync("worker/tensorrt.py", `${outDir}/worker/tensorrt.py`);

// Bundles src into dist/: the entry points on top, their chunks below chunks/, ONNX Runtime, TensorRT's worker, the licences, the SBOM.
// Without source maps: they would be 12 MB beside 3 MB of code, downloaded by every job of every user.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";
import { chunkNames } from "./chunk-names.ts";
import { licencesOf, packageFolder, readPackages, sbomOf } from "./licenses.ts";
import { countedRuntime } from "./wasm/runtime.ts";

const outDir = process.argv[2] ?? "dist";
const entries = ["main", "post", "cli", "plan", "report", "golden"];
const runtime = "node_modules/onnxruntime-web";

/** dist/ may lie in a workspace, where Node would find a package of the checkout: what is not bundled is not there. */
const unbundled = {
	name: "unbundled",
	resolveId: (id: string) => (id === "kerberos" ? "src/unbundled-kerberos" : null),
	load: (id: string) =>
		id === "src/unbundled-kerberos" ? 'throw new Error("kerberos does not come with trtgate");' : null,
};

/**
 * `import "node:http"` reads all exports, and with them loads Node's undici, 40 ms that nobody uses; `require` reads none.
 * A module of its own, so that each import of a package becomes a require.
 */
const required = {
	name: "required",
	resolveId: (id: string, importer?: string) => {
		const name = /^(?:node:)?(https?)$/.exec(id)?.[1];
		if (name === undefined || importer?.startsWith("required/")) return null;
		return `required/${name}.cjs`;
	},
	load: (id: string) => {
		const name = /^required\/(https?)\.cjs$/.exec(id)?.[1];
		return name === undefined ? null : `module.exports = require("node:${name}");`;
	},
};

rmSync(outDir, { recursive: true, force: true });
const { plugin, nameOf } = chunkNames();
const { output } = await build({
	input: {
		...Object.fromEntries(entries.map((name) => [name, `src/${name}.ts`])),
		"ort/worker": "src/ort-worker.ts",
	},
	platform: "node",
	logLevel: "warn",
	// An entry point runs when it is imported: no chunk may import one.
	preserveEntrySignatures: "strict",
	plugins: [plugin, unbundled, required],
	output: {
		dir: outDir,
		format: "esm",
		minify: true,
		entryFileNames: "[name].js",
		// Each further file costs a command 0.4 ms before it starts.
		codeSplitting: {
			groups: ["cli", "commands/preflight"].map((name, index) => ({
				name,
				test: `/src/app/${name}.ts`,
				priority: 1 - index,
			})),
		},
		chunkFileNames: (chunk) => `chunks/${nameOf(chunk)}.js`,
		comments: { legal: false },
	},
});

// One file, because a worker process loads it several times, and each copy must share nothing.
const { output: api } = await build({
	input: `${runtime}/dist/ort.node.min.mjs`,
	platform: "node",
	logLevel: "warn",
	output: {
		file: `${outDir}/ort/onnxruntime.mjs`,
		format: "esm",
		minify: true,
		codeSplitting: false,
		comments: { legal: false },
	},
});

const folders = [...output, ...api]
	.flatMap((file) => (file.type === "chunk" ? file.moduleIds.map(packageFolder) : []))
	.filter((folder) => folder !== null);
const packages = readPackages(new Set([...folders, resolve(runtime)]));
writeFileSync(`${outDir}/LICENSES.txt`, licencesOf(packages));
writeFileSync(`${outDir}/sbom.cdx.json`, sbomOf(packages));

copyFileSync(`${runtime}/dist/ort-wasm-simd-threaded.mjs`, `${outDir}/ort/ort-wasm-simd-threaded.mjs`);
const packed = gzipSync(countedRuntime(`${runtime}/dist`), { level: 9 });
// Byte 9 of a gzip header names the system that packed it; the same everywhere, so that the build is.
packed[9] = 255;
writeFileSync(`${outDir}/ort/ort-wasm-simd-threaded.wasm.gz`, packed);

// dist/ alone is complete: the worker is found beside the bundle, never beside the sources.
mkdirSync(`${outDir}/worker`);
copyFileSync("worker/tensorrt.py", `${outDir}/worker/tensorrt.py`);

import { availableParallelism, totalmem } from "node:os";
import { defineConfig } from "vitest/config";
import { compileCache } from "./test/support/compile-cache.ts";

// For vitest's own workers, and every Node that a test starts with its own variables.
process.env["NODE_COMPILE_CACHE"] ??= compileCache;

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		exclude: ["test/gpu/**"],
		setupFiles: ["test/support/properties.ts"],
		// A limit is there to end what hangs, on a loaded machine too; what must be fast says so in its test.
		testTimeout: 600_000,
		hookTimeout: 600_000,
		// No test leaves anything behind in its worker: a worker for each file would take half of the time of the pure ones.
		isolate: false,
		// Most of the end-to-end tests wait for processes, and some of these for a time limit. With its processes, a worker takes a gibibyte.
		maxWorkers: Math.max(2, Math.min(availableParallelism() + 2, Math.floor(totalmem() / 2 ** 30))),
	},
});

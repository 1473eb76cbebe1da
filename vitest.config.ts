import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		exclude: ["test/gpu/**"],
		setupFiles: ["test/support/properties.ts"],
		testTimeout: 30_000,
		hookTimeout: 60_000,
		// Most of the end-to-end tests wait for processes.
		maxWorkers: Math.max(2, availableParallelism()),
	},
});

import { defineConfig } from "vitest/config";

/** The same line on a real GPU with a real TensorRT, one test at a time: builds and timed runs take minutes. */
export default defineConfig({
	test: {
		include: ["test/gpu/**/*.gpu.test.ts"],
		fileParallelism: false,
		testTimeout: 600_000,
		hookTimeout: 120_000,
	},
});

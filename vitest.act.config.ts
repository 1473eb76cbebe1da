import { defineConfig } from "vitest/config";

/** The examples run by nektos/act, one at a time: each starts runners and gates of its own. */
export default defineConfig({
	test: {
		include: ["test/act/**/*.act.ts"],
		fileParallelism: false,
		testTimeout: 60_000,
	},
});

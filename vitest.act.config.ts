import { defineConfig } from "vitest/config";

/** The examples run by nektos/act, two at a time: each starts runners and gates of its own. */
export default defineConfig({
	test: {
		include: ["test/act/**/*.act.ts"],
		maxWorkers: 2,
		// A limit is there to end what hangs, on a loaded machine too.
		testTimeout: 600_000,
	},
});

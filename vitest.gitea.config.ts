import { defineConfig } from "vitest/config";

/** A real Gitea with its runner, by hand: GITEA and GITEA_RUNNER name the binaries. */
export default defineConfig({
	test: {
		include: ["test/gitea/**/*.gitea.ts"],
		testTimeout: 30 * 60_000,
	},
});

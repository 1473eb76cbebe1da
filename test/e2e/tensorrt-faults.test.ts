import { expect, it } from "vitest";
import { gateReplay } from "../support/replay/gate.ts";
import type { ReplayFault } from "../support/replay/install.ts";

const gate = (fault: Omit<ReplayFault, "step">, config: readonly (readonly [string, string])[] = []) =>
	gateReplay({ comparison: "slower-head", faults: [{ step: "build", arm: "head", ...fault }] }, { config });

it.each([
	["10.6/fail-bad-unsupported-op", "operator-unsupported", 1],
	["10.6/fail-no-gpu", "no-gpu", 3],
])(
	"a build of the head that ends as in %s is reported as %s and ends with exit code %i",
	async (recording, code, exit) => {
		const { run, result } = await gate({ do: "recording", recording });
		const head = result.builds.find((build) => build.arm === "head");
		expect(head?.failure?.code, run.stdout).toBe(code);
		expect(head?.state).toBe("refused");
		expect(head?.failure?.fix).toMatch(/\S/);
		expect(run.exit).toBe(exit);
		expect(result.failureKind).toBe(exit === 3 ? "runner" : undefined);
		expect(result.errors.length > 0, "the runner's fault").toBe(exit === 3);
		expect(result.builds.find((build) => build.arm === "base")?.state).toBe("built");
		expect(run.stdout).toContain(head?.failure?.title.slice(0, 20));
	},
);

it("a build of the head that hangs and ignores SIGTERM is stopped at its limit, which the report names", async () => {
	// The base still builds within it on a loaded machine.
	const { run, result } = await gate({ do: "hang-deaf" }, [["build-timeout: 5m", "build-timeout: 4s"]]);
	const head = result.builds.find((build) => build.arm === "head");
	expect(head).toMatchObject({ state: "timed-out", failure: { code: "timed-out" } });
	expect(head?.failure?.title).toMatch(
		/within its limit of 4.0 s \(measure\.build-timeout\) and was stopped\.$/,
	);
	expect(run.exit, run.stdout).toBe(1);
});

// The progress that a build reports, from a recorded verbose log.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { bed } from "../../support/replay/bed.ts";

it("a build reports which layer it times kernels for, and keeps verbose lines out of its log", async () => {
	const fault = { step: "build", do: "recording", recording: "10.6/build-classifier-verbose" } as const;
	const { backend, job } = bed({ replay: { comparison: "slower-head", faults: [fault] } });
	const told: string[] = [];
	const asked = await job({});
	await backend.build({ ...asked, onPhase: (phase) => told.push(phase) });
	expect(told).toContainEqual("timing kernels: layer 3 of 8");
	expect(told.at(-1)).toBe("kernels are chosen");
	const log = readFileSync(asked.logPath, "utf8");
	expect(log).toMatch(/\[I\] \[TRT\] Engine generation completed/);
	expect(log).not.toMatch(/\[V\]|^Layer\(/m);
	expect(log.split("\n").length).toBeLessThan(200);
});

import { expect, it } from "vitest";
import { buildNotes } from "../../../src/adapters/trtexec/failure.ts";
import { createBuildLog } from "../../../src/formats/trtexec/build-log.ts";

const { memory, ...log } = createBuildLog().result();

it.each([
	[0, "below 1 MiB"],
	[2 ** 20, "1.00 MiB"],
])("weights of %i bytes, which 8.6 rounds down to a MiB, are %s", (weights, says) => {
	const held = { ...log, memory: { ...memory, weights, activations: 2 ** 24 } };
	const notes = buildNotes({ log: held, layers: null, entriesBefore: null });
	expect(notes).toContain(`GPU memory: weights ${says}, activations 16.0 MiB.`);
});

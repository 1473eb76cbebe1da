import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeInputs } from "../../../src/adapters/trtexec/run.ts";
import { temporaryFolder } from "../../support/project.ts";

it("an empty input, such as a cache before the first token, gets a file of the one byte that trtexec reserves", async () => {
	const folder = temporaryFolder();
	const ids = { name: "ids", shape: [1, 2], data: Uint8Array.of(1, 0, 0, 0, 2, 0, 0, 0) };
	const cache = { name: "past", shape: [1, 4, 0, 64], data: new Uint8Array() };
	const written = await writeInputs(folder, [ids, cache]);
	expect(written.map(({ path, bytes }) => [path, bytes])).toEqual([
		["in0.bin", 8],
		["in1.bin", 0],
	]);
	expect([...readFileSync(join(folder, "in0.bin"))]).toEqual([...ids.data]);
	expect(statSync(join(folder, "in1.bin")).size).toBe(1);
});

// The action with a replay in place of TensorRT; make.ts runs it as a workflow would.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { systemClock } from "../../src/adapters/clock.ts";
import { openRecording, replay } from "../../src/adapters/replay/backend.ts";
import { runAction } from "../../src/host/app/actions/gate-action.ts";

const recorded = fileURLToPath(new URL("../recorded", import.meta.url));
const recording = await openRecording(recorded);

/** The head was recorded of its own file; a pull request that keeps the base's has the base's engine. */
async function engine(id) {
	const known = await recording.engine(id);
	const file = `models/${id.split("/")[0]}.onnx`;
	const [own, base] = [await readFile(file), gunzipSync(await readFile(join(recorded, "base", `${file}.gz`)))];
	return known !== null && own.equals(base) ? { base: known.base, head: known.base } : known;
}

const clock = systemClock();
process.exit(await runAction({ ...replay({ ...recording, engine }, clock), clock }));

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type LogLine, parseLogLine } from "../../src/formats/trtexec/transcript.ts";

interface Step {
	step: string;
	transcript?: [ms: number, stream: string, text: string][];
}

const file = new URL("../fixtures/comparisons/upgrade/steps.json.gz", import.meta.url);
const { steps } = JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as { steps: Step[] };

/** The log of a recorded step of the upgrade from TensorRT 8.6.1 (base) to 10.6.0 (head). */
export function upgradeLog(name: string): LogLine[] {
	const { transcript = [] } = steps.find(({ step }) => step === name) ?? {};
	return transcript.map(([, , text], index) => parseLogLine(text, index + 1));
}

// Writes to the workflow's log, apart from what sets outputs: not every action has those of the gate.
import { standardStreams } from "../../../adapters/process/standard-streams.ts";

export function log(text: string): void {
	standardStreams({ isActions: true }).out(`${text}\n`);
}

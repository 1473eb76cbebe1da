// Writes to the workflow's log. Separate from outputs, because not every action has those of the gate.
import { standardStreams } from "../../../adapters/process/standard-streams.ts";

export function log(text: string): void {
	standardStreams({ isActions: true }).out(`${text}\n`);
}

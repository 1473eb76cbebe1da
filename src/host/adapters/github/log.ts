// Writes to the workflow's log; separate from outputs, which not every action has.
import { standardStreams } from "../../../adapters/process/standard-streams.ts";

export function log(text: string): void {
	standardStreams({ isActions: true }).out(`${text}\n`);
}

// Writes to the workflow's log what people read: words of users in it command nothing.
import { standardStreams } from "../process/standard-streams.ts";

export function log(text: string): void {
	standardStreams({ isActions: true }).out(`${text}\n`);
}

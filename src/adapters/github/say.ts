// Writes to the workflow's log what people read: words of users in it command nothing.
import { info } from "@actions/core";
import { disarmCommands } from "../../core/report/escape.ts";

export function say(text: string): void {
	info(disarmCommands(text));
}

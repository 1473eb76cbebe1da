// Resolves `comparators`: commands that goldens may call by name.
import type { ConfigFile } from "../schema/config.ts";
import type { CommandConfig } from "./config.ts";
import { defaultCommandTimeoutMs } from "./defaults.ts";
import { childPointer } from "./pointer.ts";
import { orDefault, type Resolving } from "./resolving.ts";
import { parseDuration } from "./values.ts";

export function resolveCommands(resolving: Resolving, file: NonNullable<ConfigFile["comparators"]>): CommandConfig[] {
	return Object.entries(file).map(([name, { command, timeout }]) => {
		const pointer = `${childPointer("/comparators", name)}/timeout`;
		const given = timeout === undefined ? undefined : parseDuration(resolving, pointer, { text: timeout });
		return {
			name,
			command: command as [string, ...string[]],
			timeoutMs: orDefault(resolving, pointer, { given, byDefault: defaultCommandTimeoutMs }),
		};
	});
}

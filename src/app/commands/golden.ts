// `trtgate golden`: record, check and inspect goldens.
import { didYouMean } from "../../core/config/did-you-mean.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Terminal } from "../terminal.ts";

type Command = (argv: readonly string[], terminal: Terminal) => Promise<number>;

const commands: Readonly<Record<string, () => Promise<Command>>> = {
	record: async () => (await import("../golden/record.ts")).recordGolden,
	check: async () => (await import("../golden/check.ts")).checkGolden,
	inspect: async () => (await import("../golden/inspect.ts")).inspectGolden,
};

export async function golden(argv: readonly string[], terminal: Terminal): Promise<number> {
	const [name = "", ...rest] = argv;
	const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
	if (load === undefined) throw unknown(name);
	return (await load())(rest, terminal);
}

function unknown(name: string): ConfigError {
	const meant = didYouMean(name, Object.keys(commands));
	return new ConfigError({
		code: "usage",
		message: name === "" ? "golden needs to know what to do." : `golden cannot ${JSON.stringify(name)}.`,
		details: {
			fix: meant === undefined ? "Write `trtgate golden record`, `check` or `inspect`." : `Did you mean \`trtgate golden ${meant}\`?`,
		},
	});
}

// The only writer to stdout and stderr, from both of which a workflow's runner reads commands.
import { disarmCommands } from "../../core/text/escape.ts";

export type StandardStreams = ReturnType<typeof standardStreams>;

interface Writable {
	write(text: string): unknown;
}

export function standardStreams(
	{ isActions }: { isActions: boolean },
	streams: { out: Writable; err: Writable } = { out: process.stdout, err: process.stderr },
) {
	const write = (stream: Writable) => (text: string) => void stream.write(text);
	const safe = isActions ? (stream: Writable) => disarmed(write(stream)) : write;
	const out = safe(streams.out);
	return {
		out,
		err: safe(streams.err),
		command(name: string, value = "") {
			const escaped = value.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
			streams.out.write(`::${name}::${escaped}\n`);
		},
	};
}

/** A piece may end in the middle of a command, so whole lines are checked. */
function disarmed(write: (text: string) => void): (text: string) => void {
	let line = "";
	return (text) => {
		const safe = disarmCommands(line + text).slice(line.length);
		write(safe);
		line = (line + safe).split(/[\r\n]/).at(-1) ?? "";
	};
}

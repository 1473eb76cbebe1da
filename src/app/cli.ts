// The commands of the command line, each loaded only when it is asked for.
import { didYouMean } from "../core/config/did-you-mean.ts";
import { ConfigError } from "../core/errors.ts";
import { exitCodes, explainError } from "./exit.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { version } from "./version.ts";

export type Command = (argv: readonly string[], terminal: Terminal) => Promise<number>;

interface Entry {
	usage: string;
	does: string;
	/** Lines that only the command's own help shows. */
	details?: string;
	load(): Promise<Command>;
}

const commands: Readonly<Record<string, Entry>> = {
	demo: {
		usage: "[--recorded] [--out DIR]",
		does: "the quickstart: a base and a head through the whole line; or TensorRT on an H200, replayed",
		load: async () => (await import("./commands/demo.ts")).demo,
	},
	run: {
		usage: "[--config F] [--base DIR|REF] [--head DIR|REF] [--only MODEL[/ENGINE]] [--device GPU] [--out DIR]",
		does: "the gate",
		load: async () => (await import("./commands/run.ts")).run,
	},
	preflight: {
		usage: "MODEL [--tensorrt V] [--json]",
		does: "reads an ONNX file and lists findings",
		load: async () => (await import("./commands/preflight.ts")).preflight,
	},
	golden: {
		usage: "record MODEL.onnx --out DIR | check GOLDEN.json --outputs DIR | inspect GOLDEN.json",
		does: "goldens: record them, judge stored outputs against them, explain one",
		details: `
golden check --polygraphy GOLDEN.json [--outputs CANDIDATE.json] [--strict] [--json]
RunResults of \`polygraphy run --save-outputs\`, by Polygraphy's own rules and flags:
  --compare simple|indices|l2|cosine_similarity|psnr|snr|distance_metrics|quality_metrics …
  --rtol --atol --check-error-stat --error-quantile --infinities-compare-equal --index-tolerance
  --l2-threshold --cosine-similarity-threshold --psnr-threshold --snr-threshold
`,
		load: async () => (await import("./commands/golden.ts")).golden,
	},
	diagnose: {
		usage: "LOG|DIR [--exit-code N] [--signal S] [--json]",
		does: "what a run of trtexec turned out to be, and what to do",
		load: async () => (await import("./commands/diagnose.ts")).diagnose,
	},
	verdict: {
		usage: "PAIRS.json [--json]",
		does: "pairs of measurements to a verdict",
		load: async () => (await import("./commands/verdict.ts")).verdict,
	},
	report: {
		usage: "DIR [--merge DIR… [--plan FILE] [--out DIR]]",
		does: "renders again from result.json, or several merged into one",
		load: async () => (await import("./commands/report.ts")).report,
	},
	doctor: {
		usage: "",
		does: "what this machine can do, and what to mend",
		load: async () => (await import("./commands/doctor.ts")).doctor,
	},
	init: {
		usage: "MODEL",
		does: "writes trtgate.yml and a workflow for an ONNX file",
		load: async () => (await import("./commands/init.ts")).init,
	},
};

export async function runCli(argv: readonly string[]): Promise<number> {
	const [name, ...rest] = argv;
	const terminal = openTerminal({ color: !argv.includes("--no-color") });
	if (name === undefined || name === "--help" || name === "-h" || name === "help") {
		(name === undefined ? terminal.err : terminal.out)(help());
		return name === undefined ? exitCodes.configuration : exitCodes.ok;
	}
	if (name === "--version" || name === "-V") {
		terminal.out(`${version}\n`);
		return exitCodes.ok;
	}
	const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
	try {
		if (entry === undefined) throw unknownCommand(name);
		if (rest.includes("--help") || rest.includes("-h")) {
			terminal.out(`trtgate ${name} ${entry.usage}\n${entry.does}\n${entry.details ?? ""}`);
			return exitCodes.ok;
		}
		return await (await entry.load())(rest, terminal);
	} catch (error) {
		const { text, exit } = explainError(error);
		terminal.err(text);
		return exit;
	}
}

function unknownCommand(name: string): ConfigError {
	const meant = didYouMean(name, Object.keys(commands));
	const hint = meant === undefined ? "`trtgate --help` lists the commands." : `Did you mean \`trtgate ${meant}\`?`;
	return new ConfigError({ code: "usage", message: `There is no command ${JSON.stringify(name)}.`, details: { fix: hint } });
}

function help(): string {
	const width = Math.max(...Object.keys(commands).map((name) => name.length));
	const lines = Object.entries(commands).map(([name, entry]) =>
		`  ${name.padEnd(width)}  ${entry.does}\n  ${" ".repeat(width)}  ${entry.usage}`.trimEnd(),
	);
	return `trtgate ${version}: does this change still build, compute the right thing, and run as fast?

Usage: trtgate COMMAND [options]

${lines.join("\n")}

Every command: --quiet, --no-color, --help.
Exit: 0 pass or warn · 1 fail · 2 configuration or usage · 3 runner or tool · 70 a bug of trtgate
`;
}

// `trtgate repro`: packs one failure of a run, or replays it from its folder.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { chooseFailure, compareReplay, failuresOf, nameOf, parseRepro } from "../../core/repro/failures.ts";
import { describeRecord, exitCodes, exitOfResult } from "../exit.ts";
import { gate } from "../gate.ts";
import { checkOutFolder, makeOutFolder } from "../out-folder.ts";
import { packRepro } from "../repro-pack.ts";
import { stopOnSignals } from "../signals.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { parseArguments, readArgument } from "./arguments.ts";
import { readResult } from "./read-result.ts";
import { reproTable } from "./tables.ts";

export async function repro(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, reproTable);
	const { cwd } = terminal;
	const { path, result: run } = await readResult(args.positionals[0] ?? "", cwd);
	const failure = chooseFailure(failuresOf(run), args.text("case"));
	const folder = dirname(resolve(cwd, path));
	const isPacked = existsSync(join(folder, "repro.json"));
	const out = resolve(cwd, args.text("out") ?? `trtgate-repro${isPacked ? "-out" : ""}`);
	if (!isPacked) {
		await packRepro(
			failure,
			{ run, head: args.text("head"), base: args.text("base"), isWhole: args.flag("whole"), out },
			terminal,
		);
		return exitCodes.ok;
	}
	const config = join(out, "repro.yml");
	await checkOutFolder(out, terminal);
	await makeOutFolder(out, fileStore());
	await fileStore().writeText(config, await configFor(folder, terminal));
	const { result } = await gate({
		...{ cwd, environment: terminal.environment, head: folder, config, out, isFresh: true },
		...{ ...args.given("trtexec"), inputs: {}, onStart: stopOnSignals },
		progress: progressFor(terminal, { quiet: args.flag("quiet"), json: false }),
	});
	const { isReproduced, lines } = compareReplay(failure, result);
	const { name, version, device } = result.backend;
	const title = `${isReproduced ? "reproduced" : "not reproduced"}: ${nameOf(failure)}`;
	terminal.echo([title, ...lines, `on ${name} ${version}, ${device}\n`].join("\n  "));
	if (isReproduced) return exitCodes.ok;
	terminal.err(result.errors.map(describeRecord).join(""));
	return exitOfResult(result) || exitCodes.failed;
}

/** The folder may be a stranger's: the schema of its config allows no programs. */
async function configFor(folder: string, { cwd }: Terminal) {
	// Git obeys a repository's settings.
	if (existsSync(join(folder, ".git")))
		throw usageError(`${folder} is a git repository.`, "Remove its .git.");
	const { text, path } = await readArgument(join(folder, "repro.json"), cwd, inputKinds.argument);
	return JSON.stringify(parseRepro(text, path));
}

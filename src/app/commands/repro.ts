// `trtgate repro`: packs one failure of a run, or replays it from its folder.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { BugError, usageError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { parseResult } from "../../core/report/parse-result.ts";
import { compareReplay } from "../../core/repro/failures.ts";
import { configTextOf, parseRepro, reproFiles } from "../../core/repro/recipe.ts";
import { cleanMessage } from "../../core/text/escape.ts";
import { reportFiles } from "../../stages/report.ts";
import { describeRecord, exitCodes, exitOfResult } from "../exit.ts";
import { gate } from "../gate.ts";
import { checkOutFolder, makeOutFolder } from "../out-folder.ts";
import { pack } from "../repro/pack.ts";
import { stopOnSignals } from "../signals.ts";
import { progressFor, type Terminal } from "../terminal.ts";
import { type ArgumentsOf, parseArguments, readArgument } from "./arguments.ts";
import { reproTable } from "./tables.ts";

export async function repro(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, reproTable);
	const given = args.positionals[0] ?? "";
	const { cwd } = terminal;
	if (existsSync(resolve(cwd, given, reproFiles.repro))) return replay(given, args, terminal);
	const file = given.endsWith(".json") ? given : join(given, reportFiles.result);
	const { text, path } = await readArgument(file, cwd, inputKinds.result);
	const request = {
		result: parseResult(text, path),
		runFolder: dirname(resolve(cwd, file)),
		wanted: args.text("case"),
		config: args.text("config"),
		head: args.text("head"),
		out: resolve(cwd, args.text("out") ?? "trtgate-repro"),
	};
	await pack(request, terminal);
	return exitCodes.ok;
}

/** Whoever made the folder is unknown: only its data is used, by a config that is made here. */
async function replay(
	given: string,
	args: ArgumentsOf<typeof reproTable>,
	terminal: Terminal,
): Promise<number> {
	const { cwd, environment } = terminal;
	const head = resolve(cwd, given);
	// Git obeys the settings of a repository.
	if (existsSync(join(head, ".git")))
		throw usageError(`${given} is a git repository.`, "Copy its files without .git.");
	const { text, path } = await readArgument(join(given, reproFiles.repro), cwd, inputKinds.argument);
	const recipe = parseRepro(text, path);
	const out = resolve(cwd, args.text("out") ?? "trtgate-repro-out");
	await checkOutFolder(out, terminal);
	await makeOutFolder(out, fileStore());
	const config = join(out, "repro.yml");
	await fileStore().writeText(config, configTextOf(recipe));
	const completed = await gate({
		...{ cwd, environment, head, config, out, isFresh: true },
		...args.given("trtexec"),
		onnxruntimeFolder: args.text("onnxruntime-folder"),
		inputs: args.given("device"),
		progress: progressFor(terminal, { quiet: args.flag("quiet"), json: false }),
		onStart: stopOnSignals,
	});
	if (completed.state !== "ran")
		throw new BugError({ code: "internal", message: "A replay was only planned." });
	const { result } = completed;
	const { recorded, backend } = recipe;
	const { state, lines } = compareReplay(recorded, result);
	const { name, version, device } = result.backend;
	const about = `${recipe.recipe.model}/${recipe.recipe.engine}${recorded.case === undefined ? "" : `, case ${recorded.case}`}`;
	const isSameModel = result.builds.every(
		({ modelSha256 }) => (modelSha256 ?? recipe.recipe.modelSha256) === recipe.recipe.modelSha256,
	);
	const title =
		state === "unknown" ? "not reproduced (the replay did not come as far as the failure)" : state;
	terminal.echo(
		[
			`${title}: ${cleanMessage(about)}`,
			...lines.map((line) => `  ${line}`),
			`  recorded on ${cleanMessage(`${backend.name} ${backend.version}, ${backend.device}`)}; now ${name} ${version}, ${device}`,
			...(isSameModel ? [] : ["  The model is not the recorded one."]),
			"",
		].join("\n"),
	);
	if (state === "unknown") terminal.err(result.errors.map(describeRecord).join(""));
	terminal.err(`Report: ${out}/report.html\n`);
	if (state === "unknown") return exitOfResult(result) || exitCodes.failed;
	return state === "reproduced" ? exitCodes.ok : exitCodes.failed;
}

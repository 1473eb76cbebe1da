// `trtgate golden inspect`: explains a golden, and proposes limits from its outputs.
import { dirname, resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { fileTensorReader } from "../../adapters/files/tensor-reader.ts";
import { parseManifest } from "../../core/golden/manifest/parse-manifest.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { jsonText } from "../../core/text/escape.ts";
import { inspect } from "../../stages/inspect.ts";
import { parseArguments } from "../commands/arguments.ts";
import { readArgument } from "../commands/read.ts";
import { inspectTable } from "../commands/tables.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { renderInspection } from "./render-inspect.ts";

/** Exit 1 where the golden could not fail. */
export async function inspectGolden(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, inspectTable);
	const { path, text } = await readArgument(args.positionals[0] ?? "", terminal.cwd, inputKinds.golden);
	const set = { manifest: parseManifest(text, path), folder: dirname(resolve(terminal.cwd, path)) };
	const inspection = await inspect(set, { files: fileStore(), tensors: fileTensorReader() });
	terminal.out(args.flag("json") ? jsonText(inspection) : renderInspection(inspection));
	return inspection.findings.some(({ severity }) => severity === "refuse") ? exitCodes.failed : exitCodes.ok;
}

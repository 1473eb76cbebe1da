// `trtgate preflight`: checks an ONNX file without a runtime.
import { resolve } from "node:path";
import { fileModelReader } from "../../adapters/files/model-reader.ts";
import { ConfigError } from "../../core/errors.ts";
import { describeModel } from "../../core/onnx/describe.ts";
import { preflight as findingsOf } from "../../core/onnx/preflight.ts";
import { renderPreflight } from "../../core/onnx/render-preflight.ts";
import { jsonText } from "../../core/text/escape.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { preflightTable } from "./tables.ts";

export async function preflight(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, preflightTable);
	const tensorrt = checkedVersion(args.text("tensorrt"));
	const model = await fileModelReader().read(resolve(terminal.cwd, args.positionals[0] ?? ""));
	const findings = findingsOf(model, tensorrt === undefined ? { backend: "onnxruntime" } : { backend: "tensorrt", tensorrt });
	const summary = describeModel(model);
	terminal.out(
		args.flag("json") ? jsonText({ model: summary, findings }) : renderPreflight(summary, findings, { color: terminal.color.out }),
	);
	return findings.some((finding) => finding.severity === "error") ? exitCodes.failed : exitCodes.ok;
}

function checkedVersion(version: string | undefined): string | undefined {
	if (version === undefined || /^[0-9]+(\.[0-9]+){0,3}$/.test(version)) return version;
	throw new ConfigError({
		code: "usage",
		message: `--tensorrt takes a version; got ${JSON.stringify(version)}.`,
		details: { fix: "Give major and minor, as in --tensorrt 10.6." },
	});
}

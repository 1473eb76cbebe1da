// `trtgate diagnose`: explains a run of trtexec from its log.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { readModel } from "../../adapters/files/model-reader.ts";
import { openInput } from "../../adapters/process/input-file.ts";
import { ConfigError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { modelFacts } from "../../core/onnx/describe.ts";
import { jsonText } from "../../core/text/escape.ts";
import {
	diagnoseHonestly,
	type Evidence,
	flagsOf,
	renderDiagnosis,
	touchedFiles,
} from "../../formats/trtexec/diagnose.ts";
import { givenShapes } from "../../formats/trtexec/failures/profiles.ts";
import { createLogScan, type LogScan } from "../../formats/trtexec/log-scan.ts";
import { createLineReader } from "../../formats/trtexec/transcript.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { type ArgumentsOf, misused, parseArguments } from "./arguments.ts";
import { diagnoseTable } from "./tables.ts";

export async function diagnose(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, diagnoseTable);
	const wanted = args.positionals[0] ?? "";
	const path = resolve(terminal.cwd, wanted);
	const evidence = { ...endingOf(args), scan: await scanLog(path, wanted) };
	const diagnosis = diagnoseHonestly(await withFactsBeside(evidence, [dirname(path), terminal.cwd]));
	terminal.out(
		args.flag("json")
			? jsonText(diagnosis)
			: `${renderDiagnosis(diagnosis, { color: terminal.color.out })}\n`,
	);
	return diagnosis.code === "unknown" ? exitCodes.failed : exitCodes.ok;
}

function endingOf(args: ArgumentsOf<typeof diagnoseTable>) {
	const [code, signal] = [args.text("exit-code"), args.text("signal")?.toUpperCase()];
	if (code !== undefined && !/^\d{1,3}$/.test(code))
		throw misused("--exit-code", "a whole number from 0 to 255", code);
	if (signal !== undefined && !/^(SIG)?[A-Z][A-Z0-9+]{1,9}$/.test(signal))
		throw misused("--signal", "a name such as SIGKILL", signal);
	if (signal !== undefined)
		return { signal: signal.startsWith("SIG") ? signal : `SIG${signal}`, exitCode: null };
	return { exitCode: code === undefined ? null : Number(code), signal: null };
}

async function scanLog(path: string, wanted: string) {
	const scanner = createLogScan();
	const reader = createLineReader((line) => scanner.feed(line));
	const read = async (chunks: AsyncIterable<Uint8Array>) => {
		for await (const chunk of chunks) reader.push(chunk);
	};
	const { file: fd } = openInput(path, inputKinds.log, wanted);
	try {
		const file = createReadStream(path, { fd, highWaterMark: 256 * 1024 });
		await (path.endsWith(".gz") ? pipeline(file, createGunzip(), read) : pipeline(file, read));
	} catch (cause) {
		const why = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
		const [message, location] = [`${wanted} cannot be read${why}.`, { path: wanted }];
		throw new ConfigError({ code: "usage", message, cause, location, fix: "Check the path." });
	}
	reader.end();
	return scanner.result();
}

type Known = Evidence & { scan: LogScan };

async function withFactsBeside(evidence: Known, folders: readonly string[]) {
	const touched = touchedFiles(evidence);
	const inputs: { path: string; bytes: number }[] = [];
	for (const path of touched.inputs) {
		const found = await find(path, folders);
		if (found !== null) inputs.push({ path, bytes: found.bytes });
	}
	const plan = touched.plan === null ? null : await find(touched.plan, folders);
	const model = touched.model === null ? null : await find(touched.model, folders);
	return {
		...evidence,
		inputs,
		...(plan !== null && touched.plan !== null && { wrote: [{ path: touched.plan, bytes: plan.bytes }] }),
		...(model && (await modelOf(model.path, evidence))),
	};
}

async function find(path: string, folders: readonly string[]) {
	for (const candidate of isAbsolute(path) ? [path] : folders.map((folder) => join(folder, path))) {
		const found = await stat(candidate).catch(() => null);
		if (found?.isFile()) return { path: candidate, bytes: found.size };
	}
	return null;
}

async function modelOf(path: string, evidence: Known) {
	const flags = flagsOf(evidence.scan.facts.command ?? []);
	const shapes = new Map(givenShapes(flags).map(({ input, shape }) => [input, shape.split("x").map(Number)]));
	const model = await readModel(path).catch(() => null);
	return model === null ? {} : { model: modelFacts(model, { shapes, minBits: minBitsOf(flags) }) };
}

function minBitsOf(flags: ReadonlyMap<string, string>) {
	if (flags.has("--int4")) return 4;
	if (["--best", "--int8", "--fp8"].some((flag) => flags.has(flag))) return 8;
	return ["--fp16", "--bf16"].some((flag) => flags.has(flag)) ? 16 : 32;
}

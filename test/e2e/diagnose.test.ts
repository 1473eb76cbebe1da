// `trtgate diagnose` through the built bundle, on recorded runs, plain logs and what is neither.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { runCli, temporaryFolder } from "../support/project.ts";

const validate = new Ajv2020().compile(JSON.parse(readFileSync("golden-schema/diagnose.schema.json", "utf8")));
const dist = process.env["TRTGATE_DIST"];

function diagnose(...argv: string[]) {
	return runCli(["diagnose", ...argv], { cwd: temporaryFolder(), ...(dist === undefined ? {} : { dist }) });
}

const recording = (name: string): string => resolve("test/fixtures/trtexec", name);

/** The log as somebody would have saved it. */
function plainLog(name: string): string {
	const lines = gunzipSync(readFileSync(join(recording(name), "transcript.jsonl.gz")))
		.toString("utf8")
		.trimEnd()
		.split("\n");
	const path = join(temporaryFolder(), "trtexec.log");
	writeFileSync(path, `${lines.map((line) => JSON.parse(line)[2]).join("\n")}\n`);
	return path;
}

describe("diagnose", () => {
	it.each([
		["10.6/fail-bad-truncated", "onnx-unreadable"],
		["10.6/fail-no-such-program", "program-missing"],
		["10.6/golden-data-dependent-fp32-0", "raw-dump-truncated"],
		["10.15/build-classifier-fp32", "builder-resource-missing"],
		["11.2/fail-no-such-model", "onnx-file-missing"],
		["10.6/perf-classifier-graph", "ok"],
	])("says of the recording %s that it is %s, as its schema has it", async (name, code) => {
		const run = await diagnose(recording(name), "--json");
		const said = JSON.parse(run.stdout);
		expect(validate(said), JSON.stringify(validate.errors)).toBe(true);
		expect(said.code).toBe(code);
		expect(run.exit).toBe(0);
	});

	it("shows people the code, the reason, what to do, and the numbered lines of the log", async () => {
		const path = plainLog("10.6/fail-bad-unsupported-op");
		const run = await diagnose(path, "--exit-code", "1");
		expect(run.stdout).toMatch(/^operator-unsupported .*\nDo: .+\n/);
		const [, number = "", text = ""] = /^ +(\d+) │ (.*)$/m.exec(run.stdout) ?? [];
		expect(readFileSync(path, "utf8").split("\n")[Number(number) - 1]).toContain(text.slice(0, 100));
		expect(run.exit).toBe(0);
	});

	it("believes the exit code or signal that it is given", async () => {
		const path = plainLog("10.6/perf-classifier-graph");
		expect((await diagnose(path, "--signal", "kill")).stdout).toMatch(/^killed /);
		const unknown = await diagnose(path, "--exit-code", "9");
		expect(unknown.stdout).toMatch(/^unknown /);
		expect(unknown.exit).toBe(1);
	});

	it.each([
		[["none.log"], /none\.log cannot be read \(ENOENT\)/],
		[["."], /no recording at meta\.json/],
		[[resolve("README.md"), "--exit-code", "many"], /--exit-code is "many"; expected a whole number/],
		[[resolve("README.md"), "--signal", "9"], /--signal is "9"; expected a name such as SIGKILL/],
		[[], /Expected LOG\|DIR/],
	])("refuses %j with exit code 2", async (argv, says) => {
		const run = await diagnose(...argv);
		expect(run.exit).toBe(2);
		expect(run.stderr).toMatch(says);
	});

	it("reads a log that is no text to its end", async () => {
		const path = join(temporaryFolder(), "noise.log");
		writeFileSync(path, Buffer.alloc(3e6, 0xff));
		expect((await diagnose(path, "--exit-code", "1")).exit).toBe(1);
	});
});

// The same runs with other names, without streams, and with stderr behind stdout: the diagnosis must not hang on any of that.
import { expect, it } from "vitest";
import { diagnose } from "../../../src/formats/trtexec/diagnose.ts";
import { parseLog, recordedCases, recordedEvidence, recordedLines, recordedVersions } from "./recorded.ts";
import { recordedDiagnoses } from "./recorded-diagnoses.ts";

const names: readonly (readonly [from: string, to: string])[] = [
	["models/", "/srv/mod els/"],
	["engines/", "/tmp/e/"],
	["images", "pixel_values:0"],
	["tokens", "input.ids"],
	["classifier", "resnet"],
	["SwishFusion", "GeluFast"],
	["determinant", "/model/layers.0/Op_3"],
	["pictures", "ünput"],
];

function rename(text: string): string {
	return names
		.reduce((renamed, [from, to]) => renamed.replaceAll(from, to), text)
		.replace(/\b\w+\.cpp:\d+/g, "Other.cpp:1");
}

const all = recordedVersions.flatMap((version) =>
	recordedCases(version).map((name) => [`${version}/${name}`, recordedDiagnoses[version]?.[name]] as const),
);

it("diagnose, for every recorded run, is the same with other models, tensors, files and source lines", () => {
	for (const [name, code] of all) {
		const evidence = recordedEvidence(name);
		const lines = recordedLines(name).map((line) => ({ ...line, text: rename(line.text) }));
		const wrote = (evidence.wrote ?? []).map((file) => ({ ...file, path: rename(file.path) }));
		const argv = (evidence.argv ?? []).map(rename);
		expect(
			diagnose({ ...evidence, lines, wrote, argv, absent: (evidence.absent ?? []).map(rename) }).code,
			name,
		).toBe(code);
	}
});

it("diagnose, for every recorded run, is the same from a plain log with its exit code, with Windows line ends", () => {
	for (const [name, code] of all) {
		const { exitCode, signal, spawnError = null } = recordedEvidence(name);
		const text = recordedLines(name)
			.map((line) => line.text)
			.join("\r\n");
		expect(diagnose({ lines: parseLog(text), exitCode, signal, spawnError }).code, name).toBe(code);
	}
});

it("diagnose, for every recorded run, is the same where all of stderr stands behind stdout", () => {
	for (const [name, code] of all) {
		const { exitCode, signal, spawnError = null } = recordedEvidence(name);
		const lines = recordedLines(name);
		const sorted = [
			...lines.filter((line) => line.stream === "out"),
			...lines.filter((line) => line.stream === "err"),
		];
		expect(
			diagnose({ lines: parseLog(sorted.map((line) => line.text).join("\n")), exitCode, signal, spawnError })
				.code,
			name,
		).toBe(code);
	}
});

it("diagnose, for every recorded run, never calls a run fine of which only stderr was kept and that failed", () => {
	for (const [name] of all) {
		const { exitCode, signal, spawnError = null } = recordedEvidence(name);
		if (exitCode === 0) continue;
		const lines = recordedLines(name).filter((line) => line.stream === "err");
		expect(diagnose({ lines, exitCode, signal, spawnError }).kind, name).not.toBe("none");
	}
});

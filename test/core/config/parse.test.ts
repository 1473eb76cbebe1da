import { expect, it } from "vitest";
import { locate } from "../../../src/core/config/source.ts";
import { formatPointer } from "../../../src/core/found.ts";
import { loaded, refusalOf, refused, withModel } from "./load.ts";

it.each([
	["2%", 0.02],
	["0.5 %", 0.005],
	["0.02", 0.02],
	['"12.5%"', 0.125],
	["150%", 1.5],
	["1e-3", 0.001],
])("the share %s is read as %d", (text, share) => {
	expect(loaded(withModel("", `gates: { build-time: { warn: ${text} } }`)).gates.buildTime.warn).toBe(share);
});

it.each(["1", "10", "0", "0%", "-1%", "-0.1", "2 percent", "2%%", ".nan", ".inf", "", "[2%]", "true"])(
	"the share %s is refused",
	(text) => {
		const { pointer } = refusalOf("", `gates: { latency: { warn: ${text} } }`);
		expect(pointer).toBe("/gates/latency/warn");
	},
);

it.each([
	["0s", 0, "warm-up"],
	["500ms", 500],
	["2s", 2000],
	["0.5m", 30_000],
	["1h", 3_600_000],
])("the time %s is read as %d ms", (text, ms, key = "duration") => {
	const { measure } = loaded(withModel("", `measure: { ${key}: ${text}, timeout: 24h }`));
	expect(key === "duration" ? measure.durationMs : measure.warmUpMs).toBe(ms);
});

it.each(["5", "5 s", "1d", "-1s", "0s", "1.2.3s", "25h", "s"])("the time %s is refused", (text) => {
	const errors = refused(withModel("", `measure: { duration: ${text}, timeout: 24h }`));
	expect(errors.map(({ pointer }) => pointer)).toContain("/measure/duration");
});

it("text that looks like a number stays as written", () => {
	const more = "baseline: { from: pinned, ref: 12e4567 }\npreflight: { tensorrt: 10.10 }";
	const { baseline, preflight, models } = loaded(withModel("workloads: [{ name: 010 }]", more));
	const name = models[0]?.engines[0]?.workloads[0]?.name;
	expect([baseline.ref, preflight.tensorrt, name]).toEqual(["12e4567", "10.10", "010"]);
});

it("lines and columns count from 1, after a byte order mark and with CRLF too", () => {
	const text = "version: 1\r\nmodels:\r\n  net:\r\n    onnx: 3\r\n";
	for (const mark of ["", "\ufeff"])
		expect(refused(mark + text)[0]?.location).toEqual({ path: "trtgate.yml", line: 4, column: 11 });
	const [error] = refused("\ufeffbackends: auto\nversion: 1\nmodels: { a: { onnx: b } }");
	expect(error?.location?.column).toBe(1);
});

it("values are found in the file, or the nearest place for those that are not in it", () => {
	const config = loaded("version: 1\nmodels:\n  net:\n    onnx: a.onnx\ngates:\n  latency:\n    fail: 10%\n");
	expect(locate(config, "/gates/latency/fail")).toEqual({ path: "trtgate.yml", line: 7, column: 5 });
	expect(locate(config, "/gates/latency/warn")?.line).toBe(6);
	expect(locate(config, "/models/net/engines/fp32")?.line).toBe(3);
	expect(locate(config, "/measure/pairs")?.line).toBe(1);
	expect(locate({ sources: {} }, "/measure/pairs")).toBeUndefined();
});

it.each([
	["", "the file"],
	["/models/resnet50/workloads/0/batch", "models.resnet50.workloads[0].batch"],
	["/models/my model/dims/a~1b", 'models["my model"].dims["a/b"]'],
	["/models/8", 'models["8"]'],
	["/gates/engine-size/warn", "gates.engine-size.warn"],
	["/accept/0/reason", "accept[0].reason"],
])("the pointer %j is shown as %s", (pointer, text) => {
	expect(formatPointer(pointer)).toBe(text);
});

const named = (name: string) => `version: 1\nmodels: { ${JSON.stringify(name)}: { onnx: a } }`;
const withPaths = (onnx: string, golden = "g") =>
	`version: 1\nmodels: { a: ${JSON.stringify({ onnx, golden })} }`;

it.each(["a b", "it's", 'say "x"', "a|b", "🙂", "<script>", "ünï", "a/b", "~", "x".repeat(300)])(
	"names may be %j",
	(name) => {
		const config = loaded(named(name));
		expect(config.models[0]?.name).toBe(name);
		expect(locate(config, config.models[0]?.pointer ?? "")?.line).toBe(2);
	},
);

it.each(["", " ", "a\nb", "a\tb", "\u0000", "\u2028", "\u009b1m", "x".repeat(301)])(
	"names may not be %j",
	(name) => {
		expect(["config-value", "config-unreadable"]).toContain(refused(named(name))[0]?.code);
	},
);

it.each([
	["net.onnx", "net.onnx"],
	["./a//b/./net.onnx", "a/b/net.onnx"],
	["a/../net.onnx", "net.onnx"],
	["a b/ü🙂.onnx", "a b/ü🙂.onnx"],
	["..net.onnx", "..net.onnx"],
	["models\\net.onnx", "models\\net.onnx"],
])("the path %j is read as %j", (path, inside) => {
	expect(loaded(withPaths(path)).models[0]?.engines[0]?.onnx).toBe(inside);
});

it.each(["c:net.onnx", "\\\\server\\net.onnx", "a\\..\\..\\net.onnx", "..", "a/b/../../.."])(
	"the path %j is refused as outside",
	(path) => {
		const code = "path-outside-workspace";
		expect(refused(withPaths(path))).toMatchObject([{ code, pointer: "/models/a/onnx" }]);
		expect(refused(withPaths("a", path))).toMatchObject([{ code, pointer: "/models/a/golden" }]);
	},
);

it.each([".", "a/..", "a\nb.onnx", "a\u0001.onnx"])("the path %j is refused as no file's", (path) => {
	expect(refused(withPaths(path))[0]?.code).toBe("config-value");
});

it.each([
	["a model", 'version: 1\nmodels:\n  "e\\u200b": { onnx: net.onnx }\n', 3, 3],
	["an engine", withModel('engines: { "fp\\u202e16": { precision: fp16 } }'), 3, 37],
	["a workload", withModel('dims: { b: 1 }, workloads: [{ name: "\\u2066b", b: 1 }]'), 3, 62],
	["a dimension", withModel('dims: { "b\\u00ad": 1 }'), 3, 34],
	["an input", withModel('inputs: { "x\\u3164": { fill: ones } }'), 3, 36],
	["a runner", withModel("", 'runners: [{ name: "l4\\U000E0041", labels: gpu }]'), 4, 19],
])(
	"a name of %s with an invisible character is refused with its code point and place",
	(what, text, line, column) => {
		const [error] = refused(text);
		const words = `${what}: it contains an invisible character \\(U\\+[0-9A-F]{4,6}\\) at position`;
		expect(error?.message).toMatch(new RegExp(`is not a valid name for ${words}`));
		expect(error?.location).toEqual({ path: "trtgate.yml", line, column });
	},
);

const accepted = (recipe: string, reason: string) =>
	withModel(
		"",
		`accept: [{ engine: net/fp32, figure: work, at-most: 5%, recipe: "${recipe}", reason: ${reason} }]`,
	);

it.each([
	[
		"a rate of another unit",
		withModel("gates: { slo: { p99: 5ms, rate: 5/m } }"),
		/slo\.rate is "5\/m"; expected a rate such as 400\/s/,
	],
	[
		"no rate",
		withModel("gates: { slo: { p99: 5ms } }"),
		/slo\.rate is missing; expected a rate such as 400\/s/,
	],
	["no objective", withModel("gates: { slo: 5ms }"), /slo is "5ms"; expected a mapping such as \{ p99: 20ms/],
	[
		"a short reason",
		accepted("0123456789abcdef", "x"),
		/accept\[0\]\.reason is "x"; expected a text of at least 3 characters/,
	],
	[
		"a long reason",
		accepted("0123456789abcdef", "x".repeat(1001)),
		/expected a text of at most 1,000 characters/,
	],
	["a cut recipe", accepted("0123", "why not"), /recipe is "0123"; expected 16 hexadecimal digits/],
	[
		"one engine together",
		withModel("", "measure: { load: { together: [[net]] } }"),
		/expected at least 2 entries/,
	],
	[
		"a name that is none",
		withModel('prepare: { command: ls, env: ["a b"] }'),
		/env\[0\] is "a b"; expected the name of a variable/,
	],
	[
		"an empty path",
		withModel('engines: { a: { precision: fp16, onnx: "" } }'),
		/onnx is ""; expected a path, or files by version/,
	],
])("the message says what is expected in place of %s", (_, text, says) => {
	expect(refused(text).map(({ message }) => message)).toContainEqual(expect.stringMatching(says));
});

it("a wrong key of a calibration is one error", () => {
	const text = withModel("engines: { a: { precision: int8, calibration: { from: cal, method: minmx } } }");
	expect(refused(text)).toMatchObject([
		{ message: expect.stringContaining('calibration.method is "minmx"; expected one of entropy, minmax') },
	]);
});

it("an error points into the value that an alias repeats", () => {
	const [error] = refused("version: 1\nmodels:\n  a: &a { onnx: 3 }\n  b: *a\n");
	expect(error?.location?.line).toBe(3);
});

it("errors come in the order of the file", () => {
	const errors = refused("version: 1\nfoo: 1\nmodels: { a: { onx: 1, onnx: b } }\nbar: 2\n");
	expect(errors.map(({ location }) => location?.line)).toEqual([2, 3, 4]);
});

it("a config error shows no control or reordering character of a name", () => {
	const [error] = refused('version: 1\nmodels: { "a\\e[31m\\u202eb": { onnx: a } }');
	expect(error?.message).not.toMatch(/[\u0000-\u001f\u202e]/);
});

it("a name of a comparator with an invisible character is refused", () => {
	const { pointer } = refusalOf("", 'comparators: { "lp\\u200bips": { command: [a] } }');
	expect(pointer).toBe("/comparators/lp\u200bips");
});

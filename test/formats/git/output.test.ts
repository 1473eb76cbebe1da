import { expect, it } from "vitest";
import {
	classifyFetch,
	classifyLfs,
	parseHashes,
	parseParents,
	parseTags,
} from "../../../src/formats/git/output.ts";

const [a, b, c] = ["a", "b", "c"].map((digit) => digit.repeat(40)) as [string, string, string];

it("git output gives the commit of an annotated tag, and ignores a cut line", () => {
	const text = `${a}\trefs/tags/v1\n${b}\trefs/tags/v1^{}\n${c}\trefs/tags/v2\nnonsense\n${a}\trefs/heads/main\n${a}\trefs/ta`;
	expect(parseTags(text)).toEqual([
		{ name: "v1", commit: b },
		{ name: "v2", commit: c },
	]);
	expect(parseTags("")).toEqual([]);
});

it("git output reads the tags of a clone, which stand behind a space", () => {
	expect(
		parseTags(`${a} refs/tags/v1\n${b} refs/tags/v1^{}\n${c} refs/tags/v2\nnonsense\n${c} refs/tags/v`),
	).toEqual([
		{ name: "v1", commit: b },
		{ name: "v2", commit: c },
	]);
});

it("git output reads parents from the head of a commit alone", () => {
	expect(parseParents(`tree ${c}\nparent ${a}\nparent ${b}\nauthor t\n\nparent ${c}\n`)).toEqual([a, b]);
	expect(parseParents("")).toEqual([]);
});

it("git output is searched for complete hashes only", () => {
	expect(parseHashes(`${a}\n${b.slice(1)}\n${c}`)).toEqual([a, c]);
});

it.each([
	["fatal: remote error: upload-pack: not our ref aaaa", "absent"],
	["fatal: couldn't find remote ref refs/heads/x", "absent"],
	["fatal: error processing shallow info: 4\nno commits selected for shallow requests", "absent"],
	["fatal: could not read Username for 'https://github.com': terminal prompts disabled", "denied"],
	[
		"remote: Invalid username or token.\nfatal: Authentication failed for 'https://github.com/a/b/'",
		"denied",
	],
	["remote: Repository not found.\nfatal: repository 'https://github.com/a/b/' not found", "denied"],
	["fatal: unable to access 'https://github.com/a/b/': The requested URL returned error: 403", "denied"],
	["git@github.com: Permission denied (publickey).", "denied"],
	["fatal: detected dubious ownership in repository at '/w'", "owner"],
	["fatal: unable to access 'https://x/': Could not resolve host: x", "unreachable"],
	["fatal: the remote end hung up unexpectedly", "unreachable"],
])("git output knows why a fetch failed: %s", (text, fault) => {
	expect(classifyFetch(text.split("\n"))).toBe(fault);
});

it.each([
	[
		"batch response: This repository exceeded its LFS budget. The account responsible for the budget should increase it.",
		"budget",
	],
	[
		"batch response: This repository is over its data quota. Account responsible for LFS bandwidth should purchase more.",
		"budget",
	],
	["batch response: Git credentials for http://host/a/b not found.", "denied"],
	[
		"batch response: Authentication required: Authorization error: http://host/a/b/info/lfs/objects/batch",
		"denied",
	],
	["batch response: Authorization error: http://host/a/b/info/lfs/objects/batch", "denied"],
	["batch response: Repository or object not found: http://host/a/b/info/lfs/objects/batch", "denied"],
	["[4ae7] Object does not exist on the server: [404] Object does not exist on the server", "absent"],
	["batch request: dial tcp: lookup host: no such host", "unreachable"],
])("git output finds the line of git-lfs that says why: %s", (line, fault) => {
	expect(
		classifyLfs(["Downloading model.onnx", line, "error: failed to fetch some objects from 'http://host'"]),
	).toEqual({ fault, line });
});

// What git prints, whole, cut off or odd.
import { expect, it } from "vitest";
import { classifyFetch, parseHashes, parseLocalTags, parseParents, parseRemoteTags } from "../../../src/formats/git/output.ts";

const [a, b, c] = ["a", "b", "c"].map((digit) => digit.repeat(40)) as [string, string, string];

it("takes the commit of an annotated tag, and leaves out a line that was cut off", () => {
	const text = `${a}\trefs/tags/v1\n${b}\trefs/tags/v1^{}\n${c}\trefs/tags/v2\nnonsense\n${a}\trefs/heads/main\n${a}\trefs/ta`;
	expect(parseRemoteTags(text)).toEqual([
		{ name: "v1", commit: b },
		{ name: "v2", commit: c },
	]);
	expect(parseRemoteTags("")).toEqual([]);
});

it("reads the tags of a clone", () => {
	expect(parseLocalTags(`${a} ${b} v1\n${c}  v2\nnonsense\n${c}  v`)).toEqual([
		{ name: "v1", commit: b },
		{ name: "v2", commit: c },
	]);
});

it("reads parents from the head of a commit alone", () => {
	expect(parseParents(`tree ${c}\nparent ${a}\nparent ${b}\nauthor t\n\nparent ${c}\n`)).toEqual([a, b]);
	expect(parseParents("")).toEqual([]);
});

it("takes whole hashes only", () => {
	expect(parseHashes(`${a}\n${b.slice(1)}\n${c}`)).toEqual([a, c]);
});

it.each([
	["fatal: remote error: upload-pack: not our ref aaaa", "absent"],
	["fatal: couldn't find remote ref refs/heads/x", "absent"],
	["fatal: error processing shallow info: 4\nno commits selected for shallow requests", "absent"],
	["fatal: could not read Username for 'https://github.com': terminal prompts disabled", "denied"],
	["remote: Repository not found.\nfatal: repository 'https://github.com/a/b/' not found", "denied"],
	["fatal: unable to access 'https://github.com/a/b/': The requested URL returned error: 403", "denied"],
	["git@github.com: Permission denied (publickey).", "denied"],
	["fatal: detected dubious ownership in repository at '/w'", "owner"],
	["fatal: unable to access 'https://x/': Could not resolve host: x", "unreachable"],
	["fatal: the remote end hung up unexpectedly", "unreachable"],
])("knows why a fetch failed: %s", (text, fault) => {
	expect(classifyFetch(text.split("\n"))).toBe(fault);
});

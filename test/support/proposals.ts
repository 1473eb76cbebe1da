import type { Proposal, ProposedFile } from "../../src/golden/stages/propose.ts";
import { blobOf, type MemoryRepository, memoryRepository } from "./memory-repository.ts";

export const branch = "trtgate/goldens";
export const trailer = `Trtgate-Goldens: ${branch}`;
export const marker = "<!-- ours -->";
export const oldFiles = {
	"golden/net/golden.json": "of old",
	"golden/net/r1/a.npy": "1",
	"golden/net/README.md": "mine",
};

export interface ProposalPlace {
	repository: MemoryRepository;
	main: readonly [string, string, string];
}

export function openPlace(): ProposalPlace {
	const repository = memoryRepository();
	const commit = (name: string, ...parents: string[]) =>
		repository.commit({ parents, files: { ...oldFiles, name }, message: name });
	const first = commit("main-0");
	const second = commit("main-1", first);
	const third = commit("main-2", second);
	repository.branches.set("main", third);
	return { repository, main: [first, second, third] };
}

export function proposedFile(
	path: string,
	text: string,
	agreesWith?: (earlier: string) => boolean,
): ProposedFile {
	const bytes = new TextEncoder().encode(text);
	const file = { path, blob: blobOf(bytes), bytes: bytes.length, read: async () => bytes };
	return agreesWith === undefined
		? file
		: { ...file, agreesWith: (earlier) => agreesWith(new TextDecoder().decode(earlier)) };
}

export function proposalOn(commit: string, more: Partial<Proposal> & { says?: string } = {}): Proposal {
	const { says = "new", ...rest } = more;
	return {
		...{ commit, base: "main", branch, draft: false, trailer, marker },
		files: [proposedFile("golden/net/golden.json", `of ${says}`), proposedFile("golden/net/r2/a.npy", says)],
		removed: ["golden/net/r1/a.npy", "golden/net/r1/was-never-there.npy"],
		folders: ["golden/net"],
		title: `Record ${says}`,
		body: `${marker}\n${says}`,
		message: `Record ${says}\n\nWhy.\n\n${trailer}`,
		...rest,
	};
}

export function goldenFiles(says: string, name: string): Record<string, string> {
	return {
		"golden/net/README.md": "mine",
		"golden/net/golden.json": `of ${says}`,
		"golden/net/r2/a.npy": says,
		name,
	};
}

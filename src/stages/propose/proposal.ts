// Changed files, as they are proposed to a forge, and what came of it. Types only.
import type { ApiFault, HostedPull } from "../../ports/code-host.ts";

export interface ProposedFile {
	/** From the top of the repository. */
	path: string;
	/** What git calls the content. */
	blob: string;
	bytes: number;
	read(): Promise<Uint8Array>;
	/** The file of an earlier proposal says the same, so that it may stay as it is. */
	agreesWith?(earlier: Uint8Array): boolean;
}

export interface Proposal {
	/** The commit that the files were made from; they are put on top of it. */
	commit: string;
	/** Where they are to go. */
	base: string;
	/** Of our own. */
	branch: string;
	files: readonly ProposedFile[];
	/** Paths that go, where the commit has them. */
	removed: readonly string[];
	/** Folders that hold all of these paths. */
	folders: readonly string[];
	title: string;
	/** Starts with `marker`. */
	body: string;
	/** First line of the body of a pull request of ours, which may be rewritten. */
	marker: string;
	message: string;
	/** Last line of the message of each commit of ours. */
	trailer: string;
	draft: boolean;
}

export interface Proposed {
	commit: string;
	/** false: the branch held the same already. */
	isNew: boolean;
	pull: HostedPull;
	pullIs: "opened" | "updated" | "left as it is";
}

/** refused: not a fault of the forge; a sentence, and what to do. */
export type NotProposed = { state: "refused"; why: string; fix: string } | { state: "failed"; fault: ApiFault };

export type ProposalEnd = { state: "done"; proposed: Proposed } | NotProposed;

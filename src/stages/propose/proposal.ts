// Changed files as proposed to a code host, and the result. Types only.
import type { ApiFault, HostedPull } from "../../ports/code-host.ts";

export interface ProposedFile {
	/** From the top of the repository. */
	path: string;
	/** What git calls the content. */
	blob: string;
	bytes: number;
	read(): Promise<Uint8Array>;
	/** Whether the file of an earlier proposal is equivalent, so that it can stay. */
	agreesWith?(earlier: Uint8Array): boolean;
}

export interface Proposal {
	/** The commit that the files were made from; they are put on top of it. */
	commit: string;
	/** The branch to propose to. */
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
	/** false: the branch already had the same content. */
	isNew: boolean;
	pull: HostedPull;
	pullIs: "opened" | "updated" | "left as it is";
}

/** refused: not a fault of the code host; a message, and how to fix it. */
export type NotProposed =
	| { state: "refused"; why: string; fix: string }
	| { state: "failed"; fault: ApiFault };

export type ProposalEnd = { state: "done"; proposed: Proposed } | NotProposed;

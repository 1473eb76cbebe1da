// What comes into a merge, and what becomes of each part. Types only.
import type { Result } from "../schema/result.ts";

/** What came of one part. */
export type PartContent =
	| { state: "read"; result: Result }
	/** `kind` runner: a retry may fix it. */
	| { state: "refused"; reason: string; kind: "runner" | "configuration" };

export interface PartInput {
	name: string;
	artifact?: string;
	content: PartContent;
}

export interface MergeOptions {
	/** Parts that the plan names; without it, whatever came is all there is. */
	expected?: readonly { name: string; artifact?: string }[];
	/** Commits that the head may be, where they are known from elsewhere. */
	headCommits?: readonly string[];
	/** Of the program that merges. */
	version: string;
	/** Files that will accompany the merged result. */
	files: Result["files"];
}

/** One part after it was judged. */
export interface JudgedPart {
	name: string;
	artifact?: string;
	content: PartContent | { state: "missing"; reason: string };
}

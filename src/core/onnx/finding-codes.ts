// Every code that preflight may give a finding, with the severity and the advice that its findings have unless they say otherwise; each has a
// heading in docs/troubleshooting/preflight.md.
import kinds from "../../../data/finding-kinds.json" with { type: "json" };
import type { Finding } from "../../../generated/result.ts";

export type FindingCode = keyof typeof kinds;

export interface FindingKind {
	/** error by default. */
	severity?: Finding["severity"];
	fix?: string;
}

export const findingKinds = kinds as Readonly<Record<FindingCode, FindingKind>>;

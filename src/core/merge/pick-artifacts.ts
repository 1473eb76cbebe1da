// Finds the parts among a run's artifacts by their names: the latest try of each, and two of one try are two results.
import { groupBy } from "../group.ts";

export interface NamedArtifact {
	id: number;
	name: string;
}

export interface PickedPart<Artifact extends NamedArtifact> {
	/** The part's name in the plan; without a plan, the artifact's own. */
	name: string;
	artifact: Artifact;
}

export interface PickOptions {
	/** What the names of parts begin with. */
	prefix: string;
	expected?: readonly { name: string; artifact: string }[];
}

/** How the gate names an artifact whose usual name is taken: the try of the run, and a number where that is taken too. */
const again = /^(.+)-attempt(\d{1,6})(?:-[2-5])?$/;

interface Candidate<Artifact> {
	name: string;
	/** 0 under the usual name. */
	attempt: number;
	artifact: Artifact;
}

/** In the order of their ids, which grow with time. */
export function pickArtifacts<Artifact extends NamedArtifact>(
	artifacts: readonly Artifact[],
	options: PickOptions,
): PickedPart<Artifact>[] {
	// One try cannot take a name twice, so the same name again is a later try's.
	const newest = new Map([...artifacts].sort((a, b) => a.id - b.id).map((artifact) => [artifact.name, artifact]));
	const candidates = [...newest.values()].flatMap((artifact) => candidateOf(artifact, options) ?? []);
	return [...groupBy(candidates, ({ name }) => name).values()].flatMap(latest);
}

function candidateOf<Artifact extends NamedArtifact>(artifact: Artifact, { prefix, expected }: PickOptions): Candidate<Artifact> | null {
	const match = again.exec(artifact.name);
	const stem = match?.[1] ?? artifact.name;
	const attempt = Number(match?.[2] ?? 0);
	if (expected === undefined) {
		// A page kept as it is holds no result.
		const fits = artifact.name === prefix || artifact.name.startsWith(`${prefix}-`);
		return fits && !/\.html?$/i.test(artifact.name) ? { name: stem, attempt, artifact } : null;
	}
	const exact = expected.find((part) => part.artifact === artifact.name);
	if (exact !== undefined) return { name: exact.name, attempt: 0, artifact };
	const planned = expected.find((part) => part.artifact === stem);
	return planned === undefined ? null : { name: planned.name, attempt, artifact };
}

/** The first try of a run takes the usual name, so the usual name and `-attempt1` are of the same try. */
function latest<Artifact extends NamedArtifact>(candidates: readonly Candidate<Artifact>[]): PickedPart<Artifact>[] {
	const tryOf = ({ attempt }: Candidate<Artifact>): number => Math.max(1, attempt);
	const last = Math.max(...candidates.map(tryOf));
	return candidates.filter((candidate) => tryOf(candidate) === last).map(({ name, artifact }) => ({ name, artifact }));
}

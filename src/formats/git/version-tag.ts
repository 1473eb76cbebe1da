// Sorts a repository's tags by version.

export interface Tag {
	name: string;
	commit: string;
}

interface Version {
	/** The prefix before the number: `engines/`, `release-`, without a `v`. */
	series: string;
	numbers: readonly number[];
	pre: readonly (string | number)[];
}

export interface Candidates {
	/** `version`: sorted, best first. `none`: the names define no order. */
	order: "version" | "none";
	tags: readonly Tag[];
}

/** `v1.4.0`, `1.4`, `release-2.0.1-rc.1`, `engines/v3`, `pkg@1.0.0+build`. */
const pattern =
	/^(.*?[-_/@])??v?(\d{1,9}(?:\.\d{1,9}){0,3})(?:[-.]?([A-Za-z][0-9A-Za-z.-]*)|-([0-9][0-9A-Za-z.-]*))?(?:\+[0-9A-Za-z.-]+)?$/;

function parseVersion(name: string) {
	const match = pattern.exec(name);
	if (match === null) return null;
	const pre = match[3] ?? match[4] ?? "";
	return {
		series: match[1] ?? "",
		numbers: (match[2] ?? "").split(".").map(Number),
		// SemVer sorts rc10 before rc9, which is never intended.
		pre: (pre.match(/\d+|[A-Za-z]+/g) ?? []).map((part) => (/^\d/.test(part) ? Number(part) : part)),
	};
}

/** SemVer 2.0 §11: a pre-release comes before its release, numbers before words. */
function compareVersions(left: Version, right: Version) {
	for (let index = 0; index < 4; index++) {
		const difference = (left.numbers[index] ?? 0) - (right.numbers[index] ?? 0);
		if (difference !== 0) return difference;
	}
	if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
	for (const [index, part] of left.pre.entries()) {
		const other = right.pre[index];
		if (other === undefined) return 1;
		const difference = compareParts(part, other);
		if (difference !== 0) return difference;
	}
	return left.pre.length - right.pre.length;
}

function compareParts(left: string | number, right: string | number) {
	if (typeof left === "number" && typeof right === "number") return left - right;
	if (typeof left !== typeof right) return typeof left === "number" ? -1 : 1;
	return left === right ? 0 : left < right ? -1 : 1;
}

function versioned(tags: readonly Tag[]) {
	return tags.flatMap((tag) => {
		const version = parseVersion(tag.name);
		return version === null ? [] : [{ tag, version }];
	});
}

function releasesFirst(of: readonly { tag: Tag; version: Version }[], wantsReleases: boolean): Candidates {
	const releases = of.filter(({ version }) => version.pre.length === 0);
	const chosen = wantsReleases && releases.length > 0 ? releases : of;
	const sorted = [...chosen].sort((left, right) => compareVersions(right.version, left.version));
	return { order: "version", tags: sorted.map(({ tag }) => tag) };
}

/** Lower versions of the same series, or any other tag if `name` is not a version. */
export function tagsBefore(name: string, tags: readonly Tag[]): Candidates {
	const others = tags.filter((tag) => tag.name !== name);
	const own = parseVersion(name);
	if (own === null) return { order: "none", tags: others };
	const lower = versioned(others).filter(
		({ version }) => version.series === own.series && compareVersions(version, own) < 0,
	);
	return releasesFirst(lower, own.pre.length === 0);
}

/** Versions without a series, or those of the only series; with several, none. */
export function releaseTags(tags: readonly Tag[]): Candidates {
	const versions = versioned(tags);
	const series = new Set(versions.map(({ version }) => version.series));
	const [only] = series;
	if (only === undefined) return { order: "none", tags };
	if (series.has(""))
		return releasesFirst(
			versions.filter(({ version }) => version.series === ""),
			true,
		);
	return series.size === 1
		? releasesFirst(versions, true)
		: { order: "none", tags: versions.map(({ tag }) => tag) };
}

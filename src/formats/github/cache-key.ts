// Keys of what is kept between runs: all that must be the same, so that nothing of another machine is ever found.
import { slug } from "./artifact-name.ts";

/** Grows when what lies in a cache changes its form. */
const version = "v1";
/** GitHub takes 512 characters; the hash comes after this. */
const mostPrefixChars = 400;

export type CacheKind = "timing" | "engines";

/** `trtgate-timing-v1-Linux-NVIDIA-H200-580.159.03-10.15.1-`; null where the machine is not known well enough. */
export function cachePrefix(kind: CacheKind, fingerprint: Readonly<Record<string, string>>): string | null {
	const part = (name: string): string => (Object.hasOwn(fingerprint, name) ? slug(fingerprint[name] ?? "") : "");
	const [os, gpu, tensorrt] = [part("os"), part("gpu"), part("tensorrt")];
	const driver = part("driver") || part("driverBranch");
	if ([os, gpu, tensorrt, driver].includes("")) return null;
	const mig = part("mig");
	const parts = [
		"trtgate",
		kind,
		version,
		os,
		part("arch"),
		gpu,
		mig === "" || /^(disabled|n-?a)$/i.test(mig) ? "" : mig,
		driver,
		tensorrt,
	];
	return `${parts
		.filter((one) => one !== "")
		.join("-")
		.slice(0, mostPrefixChars)}-`;
}

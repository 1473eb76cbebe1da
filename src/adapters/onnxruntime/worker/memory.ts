// The largest resident size that this process has had.
import { readFileSync } from "node:fs";

/**
 * Linux: VmHWM, which starts anew with the program; ru_maxrss would count the parent that we were forked from.
 * Elsewhere ru_maxrss, which Node gives in kilobytes.
 */
export function peakMemoryBytes(): number | null {
	try {
		const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
		if (match?.[1] !== undefined) return Number(match[1]) * 1024;
	} catch {
		// Not Linux.
	}
	const { maxRSS } = process.resourceUsage();
	return maxRSS > 0 ? maxRSS * 1024 : null;
}

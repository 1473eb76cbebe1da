// The worker's files, written completely or not at all, and its peak memory.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

export function writeAtomic(path: string, content: string | Uint8Array): void {
	const temporary = `${path}.${process.pid}.tmp`;
	writeFileSync(temporary, content);
	renameSync(temporary, path);
}

/**
 * Linux: VmHWM, which is reset when a program starts; ru_maxrss would count the parent that we were forked from.
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

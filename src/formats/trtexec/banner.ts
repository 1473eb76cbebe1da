// Versions of TensorRT, and trtexec's section on its device.

export interface TensorRtVersion {
	major: number;
	minor: number;
	text: string;
}

// 8.x and 9.x print major × 1000 + minor × 100 + patch in four digits, 10.0 and later major × 10000 + minor × 100 + patch.
const banner = /^&&&& [A-Z]+ [^[\]]*\[TensorRT[^\]]{0,20} v(\d{4,7})\]/;
const plain = /TensorRT version: (\d{1,3})\.(\d{1,3})\.(\d{1,3})/;

function versionOf(major: number, minor: number, patch: number) {
	return { major, minor, text: `${major}.${minor}.${patch}` };
}

/** `100600` is 10.6.0, `8601` is 8.6.1. */
export function parseVersionNumber(digits: string): TensorRtVersion | null {
	if (!/^\d{4,7}$/.test(digits)) return null;
	const value = Number(digits);
	if (digits.length === 4)
		return versionOf(Math.floor(value / 1000), Math.floor(value / 100) % 10, value % 100);
	return versionOf(Math.floor(value / 10_000), Math.floor(value / 100) % 100, value % 100);
}

/** `10.6.0`, `10.6` or `10.6.0.26`. */
export function parseVersionText(text: string): TensorRtVersion | null {
	const parts = /^v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,4}))?(?:[.+-].*)?$/.exec(text.trim());
	return parts ? versionOf(Number(parts[1]), Number(parts[2]), Number(parts[3] ?? 0)) : null;
}

/** From the banner, or the line `TensorRT version: 10.6.0`. */
export function parseVersionLine(text: string): TensorRtVersion | null {
	const digits = banner.exec(text)?.[1];
	if (digits !== undefined) return parseVersionNumber(digits);
	const dotted = plain.exec(text);
	return dotted ? versionOf(Number(dotted[1]), Number(dotted[2]), Number(dotted[3])) : null;
}

/** The command line in the first or last line, without quotes. */
export function parseBannerCommand(text: string): string[] | null {
	const command = /^&&&& (?:RUNNING|PASSED|FAILED) .*? # (.*)$/.exec(text)?.[1];
	return command === undefined ? null : command.split(" ").filter((word) => word !== "");
}

const mebibyte = 1024 * 1024;

export function parseDeviceSection(text: string): {
	name: string;
	uuid: string | null;
	computeCapability: string | null;
	memoryBytes: number | null;
} | null {
	const value = (key: string, pattern: string) =>
		new RegExp(`\\] ${key}: (${pattern})\\s*$`, "m").exec(text)?.[1] ?? null;
	const name = value("Selected Device", ".{1,100}");
	if (name === null) return null;
	const memory = value("Device Global Memory", "\\d{1,9} MiB");
	return {
		name: name.trim(),
		uuid: value("Selected Device UUID", "GPU-[\\w-]{1,60}"),
		computeCapability: value("Compute Capability", "\\d{1,3}\\.\\d{1,2}"),
		memoryBytes: memory === null ? null : Number.parseInt(memory, 10) * mebibyte,
	};
}

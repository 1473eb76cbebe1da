// Reads trtexec's section on its device, for machines whose GPU nvidia-smi does not describe.

export interface TrtexecDevice {
	name: string;
	/** From TensorRT 10 on. */
	uuid: string | null;
	computeCapability: string | null;
	memoryBytes: number | null;
}

const mebibyte = 1024 * 1024;

/** null where the text has no such section. */
export function parseDeviceSection(text: string): TrtexecDevice | null {
	const value = (key: string, pattern: string): string | null => new RegExp(`\\] ${key}: (${pattern})\\s*$`, "m").exec(text)?.[1] ?? null;
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

// What a Jetson board says of itself: its release of Linux for Tegra, its power mode, and the range of its GPU's clock.

export interface TegraBoard {
	/** `NVIDIA Jetson AGX Orin Developer Kit`; null where the container hides it. */
	model: string | null;
	/** Linux for Tegra, `36.4.4`: kernel and driver are of this release. */
	l4t: string | null;
	/** `MAXN`, `15W`: which cores are on, and how fast they may run. */
	powerMode: string | null;
	gpuClock: { minMhz: number; maxMhz: number } | null;
}

/** `# R36 (release), REVISION: 4.4, GCID: …` of /etc/nv_tegra_release. */
export function parseTegraRelease(text: string): string | null {
	const found = /^# R(\d{1,3}) \(release\), REVISION: (\d{1,3}(?:\.\d{1,3}){0,2})/m.exec(text);
	return found === null ? null : `${found[1]}.${found[2]}`;
}

/** Of `nvpmodel -q`, which may print a warning first. */
export function parsePowerMode(text: string): string | null {
	return /^NV Power Mode:\s*(\S{1,60})\s*$/m.exec(text)?.[1] ?? null;
}

/** Names of the GPU among /sys/class/devfreq: `17000000.gpu`, and by chip before JetPack 6. */
export function isGpuDevice(name: string): boolean {
	return /\.(gpu|ga10b|gv11b|gp10b|gm20b)$/.test(name);
}

/** What must match before numbers of two boards may be compared. Fixed clocks (jetson_clocks) differ from clocks that follow the load. */
export function boardFingerprint({ model, l4t, powerMode, gpuClock }: TegraBoard): Record<string, string> {
	const clock =
		gpuClock === null ? null : gpuClock.minMhz === gpuClock.maxMhz ? `${gpuClock.maxMhz} MHz, fixed` : `up to ${gpuClock.maxMhz} MHz`;
	const known: Readonly<Record<string, string | null>> = { board: model, l4t, powerMode, gpuClock: clock };
	return Object.fromEntries(Object.entries(known).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

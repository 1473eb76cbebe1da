// Narrows the GPUs that children see to the one that the config names.

/**
 * CUDA_VISIBLE_DEVICES for children, which then find their GPU as device 0. An index counts among those in sight, as
 * CUDA's own do; "" where there are not so many. UUIDs name GPUs and MIG slices wherever they stand.
 */
export function narrowDevices(visible: string | undefined, wanted: string | undefined): string | undefined {
	if (wanted === undefined || visible === undefined || !/^\d+$/.test(wanted)) return wanted ?? visible;
	const inSight = visible.split(",").map((device) => device.trim());
	return inSight[Number(wanted)] ?? "";
}
